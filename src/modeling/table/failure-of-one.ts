import { TransactionFailedError } from './errors.js';
import type { RowWrite, TableGateway, WriteResult } from './gateway.js';

/**
 * The error for a caller who gave a single write, the first of a transaction: the failure of the
 * write, not of the transaction. Other errors stay as they are.
 */
export function failureOfOne(error: unknown): unknown {
  return error instanceof TransactionFailedError && error.index === 0 ? error.reason : error;
}

/** Why a transaction failed, when it did: the failure of one of its writes. */
export function reasonOf(error: unknown): unknown {
  return error instanceof TransactionFailedError ? error.reason : error;
}

/** A single write as a transaction that may get more rows. Fails as a single write does. */
export async function writeInTransaction(
  table: Pick<TableGateway, 'transact'>,
  write: RowWrite,
): Promise<WriteResult> {
  try {
    const [result] = await table.transact([write]);
    return result ?? { etag: undefined };
  } catch (error) {
    throw failureOfOne(error);
  }
}
