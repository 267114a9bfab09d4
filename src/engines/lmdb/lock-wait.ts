import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RootDatabase } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import type { Timers } from '../../base/async/timers.js';
import { DataDirectoryError } from './directory/data-directory-error.js';
import { within } from '../../base/async/deadline.js';
import type { Environment } from './environment.js';
import { writeTransaction } from './write-transaction.js';

/** After this time a start reports what it waits for; `lockWaitMs` bounds the wait. */
export const quietMs = 1_000;
export const lockWaitMs = 30_000;

export interface LockWaitOptions {
  readonly directory: string;
  readonly timers: Timers;
  /** Receives the reason of a long wait, for people. */
  readonly waiting: (message: string) => void;
}

const probe = fileURLToPath(new URL('lock-probe.js', import.meta.url));

/**
 * Waits until the lock of an existing data file is free. A child process probes the lock, because
 * opening the environment blocks the process without a time limit. Throws `DataDirectoryError` as
 * `writeWithinWait`. When the child fails, the lock counts as free.
 */
export async function waitForLock(options: LockWaitOptions): Promise<void> {
  const { directory } = options;
  const child = spawn(process.execPath, [probe, directory], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  let told = '';
  let isNoticed = false;
  const waiting = (message: string): void => {
    isNoticed = true;
    options.waiting(message);
  };
  child.stdout.on('data', (chunk: Buffer) => {
    const isFirst = told === '';
    told += chunk.toString('utf8');
    // On a busy machine the child starts later than the notice, which then has no name.
    if (isFirst && isNoticed) options.waiting(waitingMessage(directory, told.trim()));
  });
  const ended = once(child, 'close').catch(() => undefined);
  try {
    await withinWait(
      ended,
      { ...options, waiting },
      () => told.trim() || 'held by another process',
    );
  } finally {
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
  environment: Environment,
  options: LockWaitOptions,
  change: () => Result,
): Promise<Result> {
  let isOver = false;
  const work = writeTransaction(environment.root, () => {
    if (isOver) throw new Error('the start has given up');
    return change();
  });
  try {
    return await withinWait(work, options, () => lockHolders(environment.root));
  } finally {
    isOver = true;
  }
}

function waitingMessage(directory: string, holders: string): string {
  return `waiting for the lock of ${directory}, ${holders}`;
}

/** Waits, within the limit, for work that needs the lock. */
export async function withinWait<Result>(
  work: Promise<Result>,
  { directory, timers, waiting }: LockWaitOptions,
  holders: () => string,
): Promise<Result> {
  const notice = timers.start(
    quietMs,
    () => waiting(waitingMessage(directory, holders())),
    undefined,
  );
  const late = (): Error =>
    new DataDirectoryError(
      'in-use',
      `The data directory ${directory} cannot be taken: its lock was not free for ` +
        `${lockWaitMs / 1000} s, ${holders()}. End that process, by force if it must ` +
        'be, or choose another directory with --location.',
    );
  try {
    return await within(work, { limitMs: lockWaitMs, timers, late });
  } finally {
    notice.close();
  }
}

/** The other processes that have the data file open, as text; one of them holds the lock. */
export function lockHolders(root: RootDatabase<Bytes, Bytes>): string {
  root.readerCheck();
  const lines = root.readerList().split('\n');
  const pids = new Set(lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid > 0));
  pids.delete(process.pid);
  if (pids.size === 0) return 'held by a process that does not show itself';
  return `held by process ${[...pids].join(' or ')}`;
}
