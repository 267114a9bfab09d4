import type { RootDatabase } from 'lmdb';
import { InFlight } from '../../base/async/in-flight.js';
import type { Bytes } from '../../base/bytes.js';
import { commitReason } from './commit-error.js';

/** Write transactions of this process in progress, in any environment. */
const underWay = new InFlight();
let isHalted = false;

/**
 * Runs one write transaction. Resolves when it is committed, and rejects with the reason when it is
 * not. All write transactions of this process use this function.
 *
 * A pool thread runs the transaction and waits in the middle for `change`, which runs on the main
 * thread. If the main thread exits meanwhile, it waits for the pool, and the pool for it: a
 * deadlock that also blocks writers of other processes. So call `haltWrites` before the process
 * exits.
 */
export async function writeTransaction<Result>(
  root: Pick<RootDatabase<Bytes, Bytes>, 'childTransaction'>,
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

/**
 * Counts write transactions of another thread of this process, which end as those of this one do.
 */
export function writeInThread<Result>(work: () => Promise<Result>): Promise<Result> {
  return counted(work);
}

/** Runs one write transaction synchronously, in a thread that does nothing else. */
export function writeAtOnce<Result>(
  root: RootDatabase<Bytes, Bytes>,
  change: () => Result,
): Result {
  return root.transactionSync(change);
}

async function counted<Result>(work: () => Promise<Result>): Promise<Result> {
  if (isHalted) return new Promise(() => undefined);
  return underWay.during(work);
}

/**
 * Starts no more write transactions in this process and acknowledges no more writes. Resolves when
 * those in progress have ended, which another process can delay without limit.
 */
export async function haltWrites(): Promise<void> {
  isHalted = true;
  await underWay.none();
}
