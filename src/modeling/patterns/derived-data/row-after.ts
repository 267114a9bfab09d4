import type { Row, StoredRow } from '../../rows/row.js';
import type { RowWrite } from '../../table/gateway.js';

/** The row after a write, whose ETag is not known yet; undefined after a delete. */
export function rowAfter(row: Row | undefined, write: RowWrite): StoredRow | undefined {
  if (write.kind === 'delete') return undefined;
  const isMerge = write.kind === 'merge' || write.kind === 'upsert-merge';
  const properties = isMerge
    ? { ...row?.properties, ...write.row.properties }
    : write.row.properties;
  const kept = isMerge ? (row?.encrypt ?? []) : [];
  const encrypt = [...new Set([...kept, ...(write.row.encrypt ?? [])])];
  const marks = encrypt.length === 0 ? {} : { encrypt };
  return { ...write.row, ...marks, properties, etag: '', timestamp: 0n };
}
