import {
  TooLargeError,
  TransactionFailedError,
  type RowWrite,
  type WriteResult,
} from '../../../src/modeling/index.js';
import { transactionBytes, transactionBytesMax } from '../../../src/modeling/table/request-size.js';
import { MemoryTable } from './memory-table.js';

/** Rows in memory that refuse what is 4 MiB as it would be sent, as the service does. */
export class SizedTable extends MemoryTable {
  /** The writes of each transaction that was applied. */
  readonly transactions: number[] = [];

  override write(write: RowWrite): Promise<WriteResult> {
    const bytes = transactionBytes([write]);
    return bytes > transactionBytesMax ? Promise.reject(refusal(bytes)) : super.write(write);
  }

  override async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const bytes = transactionBytes(writes);
    if (bytes > transactionBytesMax) {
      throw new TransactionFailedError('An operation failed', undefined, refusal(bytes));
    }
    this.transactions.push(writes.length);
    return super.transact(writes);
  }
}

function refusal(bytes: number): TooLargeError {
  return new TooLargeError(`413 RequestBodyTooLarge: ${bytes} bytes`);
}
