import type { Timers } from '../base/async/timers.js';
import { compareBytes, type Bytes } from '../base/bytes.js';
import { partitionPrefixLength } from '../kv/partition-prefix.js';
import type { SampleOptions } from '../kv/sample.js';
import type { KeyRange } from '../kv/store.js';
import { prefixRange } from '../kv/tuple.js';
import type { Members } from './members.js';
import { dataOf } from './range-map.js';
import { answered, answeredSample } from './reach.js';
import type { RangeRow } from './rows.js';

/**
 * The partition prefix at which to split a range into halves of about equal bytes; undefined when
 * it has fewer than two partitions. Reads all keys of the range where the engine has no better way.
 * Rejects with `StoreUnavailableError` when the store is silent.
 */
export async function splitPoint(
  members: Members,
  range: RangeRow,
  options: Pick<SampleOptions, 'onKeys'> & { readonly timers: Timers },
): Promise<Bytes | undefined> {
  const { timers, ...seen } = options;
  const data = dataOf(range);
  const asked = { store: range.store, timers };
  const store = members.named(range.store);
  const { cuts } = await answeredSample(store, { ...seen, range: data, cuts: 1 }, asked);
  const [cut] = cuts;
  if (cut === undefined) return undefined;
  const prefixFrom = async (keys: KeyRange): Promise<Bytes | undefined> => {
    const { entries } = await answered(store.range(keys, { limit: 1, bytesMax: 1 }), asked);
    const [entry] = entries;
    return entry && prefixOf(entry.key);
  };
  const first = await prefixFrom(data);
  const at = prefixOf(cut);
  if (first !== undefined && compareBytes(at, first) > 0) return at;
  // The first partition has more than half.
  const { end } = prefixRange(at);
  if (end === undefined || compareBytes(end, data.end) >= 0) return undefined;
  return prefixFrom({ start: end, end: data.end });
}

function prefixOf(key: Bytes): Bytes {
  return Buffer.from(key.subarray(0, partitionPrefixLength(key)));
}
