import { compareBytes, type Bytes } from '../base/bytes.js';
import type { MemberStore } from '../kv/member-store.js';
import { partitionPrefixLength } from '../kv/partition-prefix.js';
import type { KeyRange } from '../kv/store.js';
import { prefixRange } from '../kv/tuple.js';
import { dataOf } from './range-map.js';
import type { RangeRow } from './rows.js';

/**
 * Where a range is cut into halves of about the same bytes, between two partitions; undefined when
 * it has fewer than two. Reads all of the range where the engine has no better way.
 */
export async function splitPoint(store: MemberStore, range: RangeRow): Promise<Bytes | undefined> {
  const data = dataOf(range);
  const { cuts } = await store.sample(data, 1);
  const [cut] = cuts;
  if (cut === undefined) return undefined;
  const first = await prefixFrom(store, data);
  const at = prefixOf(cut);
  if (first !== undefined && compareBytes(at, first) > 0) return at;
  // The first partition has more than half.
  const { end } = prefixRange(at);
  if (end === undefined || compareBytes(end, data.end) >= 0) return undefined;
  return prefixFrom(store, { start: end, end: data.end });
}

async function prefixFrom(store: MemberStore, keys: KeyRange): Promise<Bytes | undefined> {
  const { entries } = await store.range(keys, { limit: 1, bytesMax: 1 });
  const [entry] = entries;
  return entry && prefixOf(entry.key);
}

function prefixOf(key: Bytes): Bytes {
  return Buffer.from(key.subarray(0, partitionPrefixLength(key)));
}
