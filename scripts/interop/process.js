import { spawn, spawnSync } from 'node:child_process';

/** Whether a program answers with success. */
export function answers(program, args) {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

/** Runs a program and shows what it says only when it fails. */
export function succeeds(program, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', ...options });
  if (status !== 0) process.stderr.write(`${stdout ?? ''}${stderr ?? ''}`);
  return status === 0;
}

/** Runs a program in view of the user; resolves with its exit code. */
export function runInView(program, args, options) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
    child.on('error', () => resolve(1));
    child.on('exit', (code) => resolve(code ?? 1));
  });
}
