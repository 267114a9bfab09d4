import { compareBytes, type Bytes } from '../base/bytes.js';
import type { MemberStore } from '../kv/member-store.js';
import { partitionPrefixLength } from '../kv/partition-prefix.js';
import type { SampleOptions } from '../kv/sample.js';
import type { KeyRange } from '../kv/store.js';
import { prefixRange } from '../kv/tuple.js';
import { dataOf } from './range-map.js';
import type { RangeRow } from './rows.js';

/**
 * The partition prefix at which to split a range into halves of about equal bytes; undefined when
 * it has fewer than two partitions. Reads all keys of the range where the engine has no better way.
 */
export async function splitPoint(
  store: MemberStore,
  range: RangeRow,
  options: Pick<SampleOptions, 'onKeys'> = {},
): Promise<Bytes | undefined> {
  const data = dataOf(range);
  const { cuts } = await store.sample(data, 1, options);
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
