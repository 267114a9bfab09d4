import type { Bytes } from '../../../src/base/bytes.js';
import { partitionPrefix } from '../../../src/kv/partition-prefix.js';
import type { CommitBatch, Entry, KeyRange, Store } from '../../../src/kv/store.js';
import { appendString, decodeTuple, keyAfter, tupleRange } from '../../../src/kv/tuple.js';

// The table that front ends fill. In each partition a counter counts the rows beside it.

export const partitionCount = 8;
const counter = 'count';

export function prefixOf(partition: number): Bytes {
  return partitionPrefix('tables', 'account', 2, `p${partition}`);
}

function counterOf(partition: number): Bytes {
  return appendString(prefixOf(partition), counter);
}

export function rowOf(partition: number, name: string): Bytes {
  return appendString(prefixOf(partition), `r-${name}`);
}

/** A new row, whose value is its name in `readTable`, and its counter. */
export function insertion(partition: number, name: string): CommitBatch {
  const key = rowOf(partition, name);
  return {
    checks: [{ key, version: 'absent' }],
    puts: [{ key, value: Buffer.from(rowName(partition, name)) }],
    deletes: [],
    adds: [{ key: counterOf(partition), delta: 1 }],
  };
}

/** All rows and counters by `partition/name`. Throws when a key comes twice or out of order. */
export async function readTable(store: Store): Promise<ReadonlyMap<string, Entry>> {
  const found = new Map<string, Entry>();
  let isOver = false;
  let before: Bytes | undefined;
  for (let rest: KeyRange = tupleRange(['tables', 'account', 2]); !isOver;) {
    const page = await store.range(rest, { limit: 500, bytesMax: 1 << 20 });
    for (const entry of page.entries) {
      if (before !== undefined && Buffer.compare(before, entry.key) >= 0) {
        throw new Error(`a key comes twice: ${nameOf(entry.key)}`);
      }
      before = entry.key;
      found.set(nameOf(entry.key), entry);
    }
    isOver = !page.more;
    if (before !== undefined) rest = { ...rest, start: keyAfter(before) };
  }
  return found;
}

export function nameOf(key: Bytes): string {
  const [, , , partition, name] = decodeTuple(key);
  return `${String(partition).slice(1)}/${String(name)}`;
}

/** The name in `readTable`. */
export function rowName(partition: number, name: string): string {
  return `${partition}/r-${name}`;
}

export function counterName(partition: number): string {
  return `${partition}/${counter}`;
}
