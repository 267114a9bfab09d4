import type { Bytes } from '../../base/bytes.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import {
  appendNumber,
  appendString,
  decodeTuple,
  elementEnd,
  encodeTuple,
  stringAt,
} from '../../kv/tuple.js';
import { invariant } from '../../base/invariant.js';

// Permanent: these values are in every data directory. See docs/internals/table-keys.md.
const service = 'table';
const directoryContainer = 0;
const directoryPartition = '';
const idKind = 0;
const nameKind = 1;
const droppedKind = 2;

/** Everything of the table service, all accounts. */
export function servicePrefix(): Bytes {
  return encodeTuple([service]);
}

/** Everything of the table service that one account has. */
export function accountPrefix(account: string): Bytes {
  return encodeTuple([service, account]);
}

/** The account in any key of the table service. */
export function accountOfKey(key: Bytes): string {
  return stringAt(key, elementEnd(key, 0));
}

function directoryPrefix(account: string): Bytes {
  return partitionPrefix(service, account, directoryContainer, directoryPartition);
}

/** Where an account keeps the next free table id. */
export function tableIdKey(account: string): Bytes {
  return appendNumber(directoryPrefix(account), idKind);
}

/** The prefix of the directory entries of an account's tables. */
export function tableNamesPrefix(account: string): Bytes {
  return appendNumber(directoryPrefix(account), nameKind);
}

/** A table's directory entry. `name` is lower case. */
export function tableNameKey(account: string, name: string): Bytes {
  return appendString(tableNamesPrefix(account), name);
}

/** The prefix of an account's list of dropped tables. */
export function droppedTablesPrefix(account: string): Bytes {
  return appendNumber(directoryPrefix(account), droppedKind);
}

export function droppedTableKey(account: string, id: number): Bytes {
  return appendNumber(droppedTablesPrefix(account), id);
}

/** The prefix of all entities of a table. A partition key and a row key follow. */
export function tablePrefix(account: string, id: number): Bytes {
  return encodeTuple([service, account, id]);
}

export interface TableRecord {
  readonly id: number;
  /** As created. */
  readonly name: string;
}

const recordFormat = 1;

/** The value of a directory entry and of an entry of the dropped list. */
export function encodeTableRecord({ id, name }: TableRecord): Bytes {
  return encodeTuple([recordFormat, id, name]);
}

export function decodeTableRecord(value: Bytes): TableRecord {
  const [format, id, name] = decodeTuple(value);
  invariant(format === recordFormat, `unknown format ${String(format)} of a table record`);
  invariant(typeof id === 'number' && typeof name === 'string', 'a table record is malformed');
  return { id, name };
}
