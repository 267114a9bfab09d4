import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** How a test file ended; `hung` when it exceeded its limit. */
export type Ending = 'passed' | 'failed' | 'hung';

export interface TestRun {
  readonly ending: Ending;
  readonly seconds: number;
}

export interface TestRunLimits {
  readonly seconds: number;
  /** The folder for V8 coverage of this process and its children. */
  readonly coverage?: string;
}

/** Test names of a failure in TAP, at any depth. */
const failure = /^\s*not ok /m;

/**
 * Runs one compiled test file of a project copy in its own process group, which is killed at the
 * first failure, at the limit and at the end. Temporary files go to a folder that can be removed.
 */
export async function runTestFile(
  root: string,
  file: string,
  { seconds, coverage }: TestRunLimits,
): Promise<TestRun> {
  const temporary = mkdtempSync(join(root, 't'));
  const started = performance.now();
  const child = spawn(process.execPath, ['--test-reporter=tap', join(root, 'dist', file)], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      TMPDIR: temporary,
      ...(coverage === undefined ? {} : { NODE_V8_COVERAGE: coverage }),
    },
  });
  const ending = await new Promise<Ending>((resolve) => {
    const timer = setTimeout(() => resolve('hung'), seconds * 1000);
    let line = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      line += text;
      if (failure.test(line)) resolve('failed');
      line = line.slice(line.lastIndexOf('\n') + 1);
    });
    child.on('exit', (code) => {
      clearTimeout(timer);
      resolve(code === 0 ? 'passed' : 'failed');
    });
    child.on('error', () => resolve('failed'));
  });
  endGroup(child.pid);
  rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  return { ending, seconds: (performance.now() - started) / 1000 };
}

/** Kills what remains of the process group of a test file. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}
