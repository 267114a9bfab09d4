import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RootDatabase } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import { DataDirectoryError } from './directory/data-directory-error.js';
import { within } from '../../base/async/deadline.js';
import { writeTransaction } from './write-transaction.js';

/** After this time a start reports a held lock that it waits for; `lockWaitMs` bounds the wait. */
export const quietMs = 1_000;
/**
 * The same while only a child or a thread can tell whether the lock is held: on a busy machine it
 * takes seconds to begin.
 */
export const unsureMs = 5_000;
export const lockWaitMs = 30_000;

export interface LockWaitOptions {
  readonly directory: string;
  readonly timers: Timers;
  /** Receives the reason of a long wait, for people. */
  readonly waiting: (message: string) => void;
}

/** The data file, as far as a wait for its lock needs it. */
export type LockedFile = Pick<
  RootDatabase<Bytes, Bytes>,
  'childTransaction' | 'readerCheck' | 'readerList'
>;

const heldByAnother = 'held by another process';
const probe = fileURLToPath(new URL('lock-probe.js', import.meta.url));

/**
 * Waits until the lock of an existing data file is free. A child process probes the lock, because
 * opening the environment blocks the process without a time limit. Throws `DataDirectoryError` as
 * `writeWithinWait`. When the child fails, the lock counts as free.
 */
export async function waitForLock(options: LockWaitOptions): Promise<void> {
  const { directory, timers } = options;
  const child = spawn(process.execPath, [probe, directory], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  let told = '';
  const holders = (): string => told.trim() || heldByAnother;
  let notice = noticeAfter(unsureMs, options, holders);
  child.stdout.on('data', (chunk: Buffer) => {
    if (told === '') {
      notice.close();
      notice = noticeAfter(quietMs, options, holders);
    }
    told += chunk.toString('utf8');
  });
  const ended = once(child, 'close').catch(() => undefined);
  try {
    await within(ended, {
      limitMs: lockWaitMs,
      timers,
      late: () => neverFree(directory, holders()),
    });
  } finally {
    notice.close();
    process.off('exit', end);
    end();
  }
}

/**
 * Runs the transaction by which a start takes ownership of a data directory. Another process may
 * hold the lock of the data file for ever, such as one that was stopped. It is named after a
 * second. On timeout this throws `DataDirectoryError` and the change is never made, even if the
 * lock is released later; a thread keeps waiting for the lock until the process exits.
 */
export async function writeWithinWait<Result>(
  { root }: { readonly root: LockedFile },
  options: LockWaitOptions,
  change: () => Result,
): Promise<Result> {
  let isOver = false;
  // From then on only the disk can take long.
  let isTaken = false;
  const { directory, timers } = options;
  const notice = noticeAfter(quietMs, options, () => lockHolders(root));
  const work = writeTransaction(root, () => {
    isTaken = true;
    notice.close();
    if (isOver) throw new Error('the start has given up');
    return change();
  });
  const late = (): Error =>
    isTaken ? neverWritten(directory) : neverFree(directory, lockHolders(root));
  try {
    return await within(work, { limitMs: lockWaitMs, timers, late });
  } finally {
    isOver = true;
    notice.close();
  }
}

/** Waits, within the limit, for work of another process that needs the lock. */
export async function withinWait<Result>(
  work: Promise<Result>,
  options: LockWaitOptions,
): Promise<Result> {
  const { directory, timers } = options;
  const holders = (): string => heldByAnother;
  const notice = noticeAfter(unsureMs, options, holders);
  const late = (): Error => neverFree(directory, holders());
  try {
    return await within(work, { limitMs: lockWaitMs, timers, late });
  } finally {
    notice.close();
  }
}

function noticeAfter(
  delayMs: number,
  { directory, timers, waiting }: LockWaitOptions,
  holders: () => string,
): Timer {
  const tell = (): void => waiting(`waiting for the lock of ${directory}, ${holders()}`);
  return timers.start(delayMs, tell, undefined);
}

function neverFree(directory: string, holders: string): DataDirectoryError {
  return new DataDirectoryError(
    'in-use',
    `The data directory ${directory} cannot be taken: its lock was not free for ` +
      `${lockWaitMs / 1000} s, ${holders}. End that process, by force if it must ` +
      'be, or choose another directory with --location.',
  );
}

function neverWritten(directory: string): DataDirectoryError {
  return new DataDirectoryError(
    'disk',
    `The data directory ${directory} cannot be taken: its disk has not written in ` +
      `${lockWaitMs / 1000} s that this process owns it. Look at the disk, then start again.`,
  );
}

/** The other processes that have the data file open, as text; one of them holds the lock. */
export function lockHolders(root: Pick<LockedFile, 'readerCheck' | 'readerList'>): string {
  root.readerCheck();
  const lines = root.readerList().split('\n');
  const pids = new Set(lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid > 0));
  pids.delete(process.pid);
  if (pids.size === 0) return 'held by a process that does not show itself';
  return `held by process ${[...pids].join(' or ')}`;
}
