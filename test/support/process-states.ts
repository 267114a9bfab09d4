import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { CliProcess } from './cli-process.js';

/** True unless the status of a process on Linux is that of an ended one. */
export function hasNotEnded(status: string): boolean {
  return !/^State:\s+[ZX]/m.test(status);
}

/** True while a process runs; false for an ended process that nobody has waited for. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    return hasNotEnded(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Resolves when all processes have ended. */
export async function untilEnded(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await pause(20);
}

/** Process ids of the workers, in the order in which they began to listen. */
export function workerPids({ stderr }: Pick<CliProcess, 'stderr'>): number[] {
  return Array.from(stderr.matchAll(/"pid":(\d+),"msg":"a worker listens"/g), ([, pid]) =>
    Number(pid),
  );
}
