import { execFile, spawnSync } from 'node:child_process';
import { rename, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const source = fileURLToPath(new URL('../../../../test/support/faults/faults.c', import.meta.url));
const compiled = fileURLToPath(new URL('faults.so', import.meta.url));
const compiler = process.env['CC'] ?? 'cc';

/** Why tests with faults of system calls are skipped; false when they are not. */
export const withoutFaults = reasonAgainst();

function reasonAgainst(): string | false {
  if (process.platform !== 'linux') return 'system calls are made to fail on Linux only';
  if (spawnSync(compiler, ['--version']).status === 0) return false;
  return `needs a C compiler: there is no '${compiler}'`;
}

/** The path of the compiled shim, which is compiled when it is missing or older than its source. */
export async function shimPath(): Promise<string> {
  if ((await changedMs(compiled)) > (await changedMs(source))) return compiled;
  // Test files run concurrently: each compiles its own, and the last one remains.
  const own = `${compiled}.${process.pid}`;
  const flags = ['-shared', '-fPIC', '-O1', '-Wall', '-Wextra', '-Werror'];
  await promisify(execFile)(compiler, [...flags, '-o', own, source, '-ldl']);
  await rename(own, compiled);
  return compiled;
}

async function changedMs(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch {
    return 0;
  }
}
