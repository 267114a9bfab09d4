import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { haltWrites } from '../../app/store-writes.js';

/** The exit codes of a server. */
export const exitCodes = {
  /** It was told to stop. */
  stopped: 0,
  /** It could not start or continue; the last log line has the reason. */
  failed: 1,
  /** An unexpected error, after which the state is unknown. */
  broken: 70,
  /** The storage engine has failed, for instance because of the disk. */
  storeFailed: 74,
} as const;

/** How long pending writes and file operations may take before the process is killed. */
export const patienceMs = 1_000;
/** How long a slow reader of the log may take; the rest is lost. */
const logPatienceMs = 500;
const lookEveryMs = 5;
/** Requests that occupy a pool thread, by node's names. */
const poolWork = /^(FSReq|FileHandleCloseReq|GetAddrInfo|GetNameInfo)/;

let isEnding = false;

/**
 * Ends the process with a code, reliably and within about a second.
 *
 * `process.exit` is not reliable: it joins the pool threads. A thread that writes to the store
 * waits for the main thread, which no longer answers, and holds the lock of the data file
 * meanwhile; a thread that opens a FIFO or writes to an unread pipe may never return. So this waits
 * until the pool is idle. On timeout the process kills itself (137 for a shell), which loses
 * nothing that was acknowledged, and the kernel releases its locks.
 *
 * `flush` writes the log; it may fail to finish.
 */
export async function endProcess(
  code: number,
  flush: () => Promise<void> = () => Promise.resolve(),
): Promise<never> {
  // The first caller decides the exit code.
  if (isEnding) return new Promise(() => undefined);
  isEnding = true;
  const patience = pause(patienceMs).then(() => 'over' as const);
  const flushed = Promise.race([flush(), pause(logPatienceMs)]);
  const idle = Promise.all([haltWrites(), flushed]).then(untilPoolIdle, untilPoolIdle);
  if ((await Promise.race([idle, patience])) !== 'over') process.exit(code);
  process.kill(process.pid, 'SIGKILL');
  // Process 1 of a container cannot be killed from inside.
  return process.abort();
}

/**
 * The program of the thread: a text, which needs no disk. It counts in steps, so that a process
 * that was suspended meanwhile has its time afterwards.
 */
const killerText = `
  const { workerData } = require('node:worker_threads');
  const steps = 4;
  function step(left) {
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    else setTimeout(step, workerData / steps, left - 1);
  }
  step(steps);
`;

/**
 * Kills the process after this time, unless it has ended by then, also when its main thread is
 * caught in a system call, as calls on a disk that does not answer are, or in a loop.
 */
export function killAfter(limitMs: number): void {
  try {
    const killer = new Worker(killerText, { eval: true, workerData: limitMs });
    killer.unref();
    // A process that is short of threads or memory ends without it, as a rule.
    killer.on('error', () => undefined);
  } catch {
    // The same, where the system refuses a thread at once.
  }
}

/** No new work begins in the turn of the event loop in which this resolves. */
async function untilPoolIdle(): Promise<void> {
  while (process.getActiveResourcesInfo().some((name) => poolWork.test(name))) {
    await pause(lookEveryMs);
  }
}
