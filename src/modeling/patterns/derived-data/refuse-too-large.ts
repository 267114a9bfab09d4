import { TooLargeError } from '../../rows/model-error.js';
import { transactionWritesMax, type RowWrite, type TableGateway } from '../../table/gateway.js';
import { bytesBeyondTransaction } from '../../table/request-size.js';

/**
 * Throws `TooLargeError` for writes that do not fit into one transaction of the table. `given` of
 * them are those of the caller, the others are derived.
 */
export function refuseTooLarge(
  base: TableGateway,
  given: number,
  writes: readonly RowWrite[],
): void {
  const { table, writesMax = transactionWritesMax } = base;
  const count = writes.length;
  const what = `${table}: ${given} of the writes are the caller's, ${count - given} are derived`;
  if (count > writesMax) {
    const fitting = Math.floor((writesMax * given) / count);
    const advice =
      given > 1 && fitting > 0
        ? `Write about ${fitting} at a time`
        : 'Let fewer rows be derived from a write';
    throw new TooLargeError(
      `${what}, together ${count}; a transaction holds ${writesMax}. ${advice}, or keep an index ` +
        'with many rows an entity in another partition or table',
    );
  }
  const bytes = bytesBeyondTransaction(base, writes);
  if (bytes === undefined) return;
  throw new TooLargeError(
    `${what}, together about ${bytes} bytes; a transaction has less than 4 MiB`,
  );
}
