import { setTimeout as pause } from 'node:timers/promises';
import { haltWrites } from '../../app/store-writes.js';

/** How a server ends. */
export const exitCodes = {
  /** It was told to stop, and has. */
  stopped: 0,
  /** It could not start or go on, for a reason that its last line gives. */
  failed: 1,
  /** An error that nobody expected, after which nothing can be relied on. */
  broken: 70,
  /** The storage engine cannot go on, for instance because a disk failed. */
  storeFailed: 74,
} as const;

/** How long writes and file operations may take to end before the process is killed. */
const patienceMs = 1_000;
/** How long a slow reader of the log may take; what it has not taken then is lost. */
const logPatienceMs = 500;
const lookEveryMs = 5;
/** File operations and look-ups that a thread of the pool runs, as node calls them. */
const poolWork = /^(FSReq|FileHandleCloseReq|GetAddrInfo|GetNameInfo)/;

let isEnding = false;

/**
 * Ends the process with the code, for certain and within about a second.
 *
 * `process.exit` is not certain: it joins the threads of the pool. One that writes to the store
 * waits for the main thread, which no longer answers, and keeps the lock of the data file for as
 * long; one that opens a FIFO or writes to a pipe that nobody reads may never come back. So the
 * pool is left to become idle first. What does not end in time is killed with the process (137 for
 * a shell), which loses nothing that was acknowledged, and the kernel gives its locks to others.
 *
 * `flush` writes out the log; it need not be certain to end.
 */
export async function endProcess(
  code: number,
  flush: () => Promise<void> = () => Promise.resolve(),
): Promise<never> {
  // The first who wants the end decides how it looks.
  if (isEnding) return new Promise(() => undefined);
  isEnding = true;
  const patience = pause(patienceMs).then(() => 'over' as const);
  const flushed = Promise.race([flush(), pause(logPatienceMs)]);
  const idle = Promise.all([haltWrites(), flushed]).then(untilPoolIdle, untilPoolIdle);
  if ((await Promise.race([idle, patience])) !== 'over') process.exit(code);
  process.kill(process.pid, 'SIGKILL');
  // The first process of a container cannot be killed from inside.
  return process.abort();
}

/** Nothing new begins in the turn of the loop in which this resolves. */
async function untilPoolIdle(): Promise<void> {
  while (process.getActiveResourcesInfo().some((name) => poolWork.test(name))) {
    await pause(lookEveryMs);
  }
}
