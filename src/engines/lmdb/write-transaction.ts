import type { RootDatabase } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import { commitReason } from './commit-error.js';

/** Write transactions of this process that have begun and not ended, whatever their environment. */
let underWay = 0;
let isHalted = false;
const waiting: (() => void)[] = [];

/**
 * Runs one write transaction; resolves when it is committed, and rejects with why it is not. All of
 * this process go through here.
 *
 * A thread of the pool runs the transaction, and waits in the middle of it for `change`, which the
 * main thread runs. A main thread that exits meanwhile joins the pool: both then wait for ever, and
 * so does every other process that wants to write. Whoever ends the process calls `haltWrites` first.
 */
export async function writeTransaction<Result>(
  root: RootDatabase<Bytes, Bytes>,
  change: () => Result,
): Promise<Result> {
  return counted(async () => {
    try {
      return await root.childTransaction(change);
    } catch (error) {
      throw await commitReason(error);
    }
  });
}

/** Write transactions of another thread of this process: they end as those of this one do. */
export function writeInThread<Result>(work: () => Promise<Result>): Promise<Result> {
  return counted(work);
}

/** Runs one write transaction in a thread that does nothing else, and waits for it. */
export function writeAtOnce<Result>(
  root: RootDatabase<Bytes, Bytes>,
  change: () => Result,
): Result {
  return root.transactionSync(change);
}

async function counted<Result>(work: () => Promise<Result>): Promise<Result> {
  if (isHalted) return new Promise(() => undefined);
  underWay += 1;
  try {
    return await work();
  } finally {
    underWay -= 1;
    if (underWay === 0) for (const tell of waiting.splice(0)) tell();
  }
}

/**
 * From now on no write transaction begins in this process, and no write is acknowledged. Resolves
 * when those under way have ended, which another process can delay without bound.
 */
export async function haltWrites(): Promise<void> {
  isHalted = true;
  if (underWay > 0) await new Promise<void>((resolve) => waiting.push(resolve));
}
