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

/** From when on a start says for whom it waits, and how long it waits in all. */
const quietMs = 1_000;
export const lockWaitMs = 30_000;

export interface LockWaitOptions {
  readonly directory: string;
  readonly timers: Timers;
  /** Is told, for people, why it takes long. */
  readonly waiting: (message: string) => void;
}

const probe = fileURLToPath(new URL('lock-probe.js', import.meta.url));

/**
 * Waits until the lock of a data file that exists is free. A process of its own finds that out:
 * opening the environment waits for the lock without end, and blocks the process that does so.
 * Throws `DataDirectoryError` as `writeWithinWait`. Where that process fails, the lock counts as free.
 */
export async function waitForLock(options: LockWaitOptions): Promise<void> {
  const { directory } = options;
  const child = spawn(process.execPath, [probe, directory], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const end = (): void => void child.kill('SIGKILL');
  process.once('exit', end);
  let told = '';
  child.stdout.on('data', (chunk: Buffer) => (told += chunk.toString('utf8')));
  const ended = once(child, 'close').catch(() => undefined);
  try {
    await withinWait(ended, options, () => told.trim() || 'held by another process');
  } finally {
    process.off('exit', end);
    end();
  }
}

/**
 * Runs the transaction by which a start takes a data directory. A process may hold the lock of
 * the data file and not end its write: one that was stopped, or that hangs in its end. It is named
 * after a second. Throws `DataDirectoryError` when it keeps the lock: the change is not made then,
 * also when the lock becomes free later, but a thread waits for it until the process ends.
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

/** Waits for work that has the lock when it ends. */
async function withinWait<Result>(
  work: Promise<Result>,
  { directory, timers, waiting }: LockWaitOptions,
  holders: () => string,
): Promise<Result> {
  const notice = timers.start(
    quietMs,
    () => waiting(`waiting for the lock of ${directory}, ${holders()}`),
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

/** The others that have the data file open, in words: one of them has the lock. */
export function lockHolders(root: RootDatabase<Bytes, Bytes>): string {
  root.readerCheck();
  const lines = root.readerList().split('\n');
  const pids = new Set(lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid > 0));
  pids.delete(process.pid);
  if (pids.size === 0) return 'held by a process that does not show itself';
  return `held by process ${[...pids].join(' or ')}`;
}
