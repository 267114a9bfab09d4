import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { CliProcess } from './cli-process.js';

/** Whether the status that Linux tells of a process is not that of a dead one. */
export function hasNotEnded(status: string): boolean {
  return !/^State:\s+[ZX]/m.test(status);
}

/** Whether a process runs; one that has ended and was not waited for does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    return hasNotEnded(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Resolves when all have ended. */
export async function untilEnded(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await pause(20);
}

/** Process ids of the workers that have listened, in the order in which they did. */
export function workerPids({ stderr }: Pick<CliProcess, 'stderr'>): number[] {
  return Array.from(stderr.matchAll(/"pid":(\d+),"msg":"a worker listens"/g), ([, pid]) =>
    Number(pid),
  );
}
