import type { StaleComputed } from '../../definition/codec.js';
import type { Row, StoredRow } from '../../rows/row.js';
import { withEncryptedNames } from '../../table/encrypted-names.js';
import type { RowWrite, TableGateway } from '../../table/gateway.js';

type Put = Exclude<RowWrite, { readonly kind: 'delete' }>;

/**
 * A write of a caller with the computed properties that follow from it. `after`: the row as the
 * write alone would leave it. A merge that has to encrypt them becomes a write of the whole row,
 * because the properties that a merge keeps would lose their key.
 */
export function recomputed(
  write: Put,
  after: StoredRow,
  { properties, encrypt }: StaleComputed,
  table: TableGateway,
): RowWrite {
  const { partitionKey, rowKey } = after;
  const marked = withEncryptedNames(table, { partitionKey, rowKey, properties, encrypt });
  const encrypted = marked.encrypt ?? [];
  const isMerge = write.kind === 'merge' || write.kind === 'upsert-merge';
  const isWhole = isMerge && encrypted.length > 0;
  const base = isWhole ? after : write.row;
  const marks = [...new Set([...(base.encrypt ?? []), ...encrypted])];
  const row: Row = {
    partitionKey,
    rowKey,
    properties: { ...base.properties, ...properties },
    ...(marks.length === 0 ? {} : { encrypt: marks }),
  };
  if (!isWhole) return { ...write, row };
  return write.kind === 'merge'
    ? { ...write, kind: 'replace', row }
    : { ...write, kind: 'upsert-replace', row };
}
