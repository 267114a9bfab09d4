import type { Bytes } from '../../base/bytes.js';
import type { Entry, Store } from '../../kv/store.js';
import type { Found } from './evaluation.js';
import type { MemoryTable, TableEntry } from './memory-table.js';

/**
 * What the table has at each key, as `resultOf` gives it; elsewhere the entry of the base. The base
 * is read once at most.
 */
export async function lookUp<Result>(
  table: MemoryTable,
  base: Pick<Store, 'getMany'>,
  keys: readonly Bytes[],
  resultOf: (entry: TableEntry, key: Bytes) => Result | undefined,
): Promise<(Result | Entry | undefined)[]> {
  const found: (Result | Entry | undefined)[] = [];
  const others: Bytes[] = [];
  const places: number[] = [];
  for (const [place, key] of keys.entries()) {
    const entry = table.get(key);
    found.push(entry && resultOf(entry, key));
    if (entry !== undefined) continue;
    others.push(key);
    places.push(place);
  }
  if (others.length === 0) return found;
  const inBase = await base.getMany(others);
  if (others.length === keys.length) return inBase;
  for (const [index, place] of places.entries()) found[place] = inBase[index];
  return found;
}

/** Uses the caller's key, which saves decoding the stored one. */
export function entryOf({ value, version }: TableEntry, key: Bytes): Entry | undefined {
  return value === undefined ? undefined : { key, value, version };
}

/** Undefined for a deletion. Value and version are decoded on access. */
export function foundOf(entry: TableEntry): Found {
  return entry.isDeletion ? undefined : entry;
}
