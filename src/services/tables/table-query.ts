import { appendString, keyAfter, prefixRange } from '../../kv/tuple.js';
import type { Bytes } from '../../base/bytes.js';
import type { Entry, KeyRange, Store } from '../../kv/store.js';
import { keyBound } from './key-bounds.js';
import { decodeTableRecord, tableNamesPrefix } from './keys.js';
import { pageSize } from './page-size.js';
import {
  intersectStrings,
  stringRange,
  type StringInterval,
  type StringSet,
} from './string-set.js';
import { tableIdentity } from './table-name.js';
import { planTables } from './table-plan.js';
import type { TableInfo, TablePage, TableQuery } from './types.js';

const pageBytesMax = 1 << 20;

/** One page of an account's tables, ordered by lower-case name (spec table-service §3.5). */
export async function queryTableNames(
  store: Store,
  account: string,
  query: TableQuery,
): Promise<TablePage> {
  const top = pageSize(query.top);
  const wanted = planTables(query.filter);
  if (top === 0) return { tables: [] };
  const from = stringRange(keyBound(tableIdentity(query.from ?? '')));
  return readPage(store, tableNamesPrefix(account), intersectStrings(wanted, from), top);
}

async function readPage(
  store: Store,
  prefix: Bytes,
  intervals: StringSet,
  top: number,
): Promise<TablePage> {
  const tables: TableInfo[] = [];
  for (const interval of intervals) {
    const range = nameRange(prefix, interval);
    let start: Bytes | undefined = range.start;
    while (start !== undefined) {
      // One more than the page holds: its name starts the next page.
      const limit = top + 1 - tables.length;
      const options = { limit, bytesMax: pageBytesMax };
      const page = await store.range({ ...range, start }, options);
      for (const entry of page.entries) {
        const { name } = decodeTableRecord(entry.value);
        if (tables.length === top) return { tables, next: tableIdentity(name) };
        tables.push({ name });
      }
      start = page.more ? afterLast(page.entries) : undefined;
    }
  }
  return { tables };
}

function nameRange(prefix: Bytes, { start, end }: StringInterval): KeyRange {
  const from = appendString(prefix, start);
  return end === undefined
    ? { ...prefixRange(prefix), start: from }
    : { start: from, end: appendString(prefix, end) };
}

function afterLast(entries: readonly Entry[]): Bytes | undefined {
  const last = entries.at(-1);
  return last === undefined ? undefined : keyAfter(last.key);
}
