import type { AnyDefinition } from '../definition/entity-definition.js';
import { TooLargeError, ValueError } from '../rows/model-error.js';
import { nameOfKey } from '../rows/row-parts.js';
import type { RowKey, StoredRow } from '../rows/row.js';
import type { RowWrite, TableGateway } from './gateway.js';
import { bytesBeyondTransaction } from './request-size.js';
import type { PutWrite } from './row-writes.js';
import type { PrecedingRows } from './row-update-queues.js';
import type { UpdateScope } from './update-scope.js';

/** A write that is made of the row as it is when the transaction runs. */
export interface Pending {
  readonly key: RowKey;
  readonly place: number;
  /** Undefined: nothing changes. */
  readonly make: (row: StoredRow | undefined, scope: UpdateScope) => Promise<PutWrite | undefined>;
}

/** A row that a transaction leaves as it was read. */
export interface Unchanged {
  readonly place: number;
  readonly row: StoredRow;
}

/** The write that is to be made, or the row that stays as it was read. */
export async function madeNow(
  table: Pick<TableGateway, 'get'>,
  { key, make }: Pending,
  preceding: PrecedingRows,
  scope: UpdateScope,
): Promise<{ readonly write?: PutWrite | undefined; readonly row?: StoredRow | undefined }> {
  const known = preceding.get(nameOfKey(key));
  const foreseen = known && (await make(known, scope));
  if (foreseen !== undefined) return { write: foreseen };
  // Another process may have written since; only a read shows that nothing is to be done.
  const row = await table.get(key);
  const write = await make(row, scope);
  return write === undefined ? { row } : { write };
}

/** Changes only the ETag, and fails without a row that has the given one. */
export function mergeOfNothing({ partitionKey, rowKey }: RowKey, etag: string) {
  return { kind: 'merge', row: { partitionKey, rowKey, properties: {} }, etag } as const;
}

/** The write that makes an absent entity. Throws `ValueError` for one with other keys. */
export function unmoved({ type }: AnyDefinition, write: PutWrite, { rowKey }: RowKey): PutWrite {
  if (write.row.rowKey === rowKey) return write;
  throw new ValueError(`${type}: ifAbsent made an entity with other keys`);
}

/** The error for a delete of a row that must exist. */
export function requiredError({ rowKey }: RowKey): ValueError {
  return new ValueError(`a transaction cannot delete '${rowKey}', which it requires to exist`);
}

/** Throws `TooLargeError` for writes beyond 4 MiB. */
export function refuseTooLarge(table: TableGateway, writes: readonly RowWrite[]): void {
  const bytes = bytesBeyondTransaction(table, writes);
  if (bytes === undefined) return;
  throw new TooLargeError(`a transaction of about ${bytes} bytes is larger than 4 MiB`);
}
