import type { Bytes } from '../../src/base/bytes.js';
import type { CommitBatch } from '../../src/kv/index.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { valueBytes } from './kinds.js';

const digits = 10;
const value = Buffer.alloc(valueBytes, 'stored by the benchmark of PostgreSQL ');

/** The key of a row. Rows of one partition are in the order of their numbers. */
export function keyOf(partition: string, row: number): Buffer {
  const prefix = partitionPrefix('tables', 'account', 1, partition);
  return Buffer.concat([prefix, Buffer.from(String(row).padStart(digits, '0'))]);
}

export function rowValue(): Bytes {
  return value;
}

/** A commit of a row that must be absent. */
export function insertion(key: Bytes): CommitBatch {
  return { checks: [{ key, version: 'absent' }], puts: [{ key, value }], deletes: [] };
}
