import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { own } from '../../base/own.js';
import { limitText } from '../limits/known-limit.js';
import { limitOf } from '../limits/known-limits.js';
import { refused, type Refusal } from './refusal.js';

// SQL databases as shards: keys of the types that a shard map can have, as texts whose order is
// that of the keys, so that `ListRouting` and `RangeRouting` take them.

/** `int`: 32 bits, `bigint` and `timeSpan` (100 ns): 64 bits, with a sign. */
export type SqlShardKey =
  | { readonly type: 'int'; readonly value: number }
  | { readonly type: 'bigint' | 'timeSpan'; readonly value: bigint }
  | { readonly type: 'guid'; readonly value: string }
  | { readonly type: 'binary'; readonly value: Bytes }
  /** Exact to milliseconds; of a `dateTimeOffset` the moment alone counts. */
  | { readonly type: 'dateTime' | 'dateTimeOffset'; readonly value: Date };

export type SqlShardText = { readonly kind: 'text'; readonly text: string } | Refusal;

/**
 * A key as a text of letters, digits and hyphens: numbers raised by the least one, to 10 or 20
 * digits; guids in the order of their text, which is not that of SQL Server (`sqlServerGuidText`);
 * bytes in hexadecimal digits; moments in 19 digits of 100 ns since year 1.
 */
export function sqlShardText(key: SqlShardKey): SqlShardText {
  switch (key.type) {
    case 'int':
      return Number.isInteger(key.value) && key.value === (key.value | 0)
        ? text(String(key.value + 2 ** 31).padStart(10, '0'))
        : refused('bad-key', `${key.value} is no whole number of 32 bits`);
    case 'bigint':
    case 'timeSpan':
      return BigInt.asIntN(64, key.value) === key.value
        ? text(String(key.value + 2n ** 63n).padStart(20, '0'))
        : refused('bad-key', `${key.value} has more than 64 bits`);
    case 'guid':
      return guidPattern.test(key.value)
        ? text(key.value.toLowerCase())
        : refused('bad-key', `'${key.value}' is no guid`);
    case 'binary':
      return binaryText(key.value);
    case 'dateTime':
    case 'dateTimeOffset':
      return momentText(key.value);
    default:
      return unreachable(key);
  }
}

/** Whether a text is that of a key of this type, as `sqlShardText` makes it. */
export function isSqlShardText(type: SqlShardKey['type'], shown: string): boolean {
  const isWithin = (digits: number, end: bigint): boolean =>
    shown.length === digits && /^\d+$/.test(shown) && BigInt(shown) < end;
  switch (type) {
    case 'int':
      return isWithin(10, 2n ** 32n);
    case 'bigint':
    case 'timeSpan':
      return isWithin(20, 2n ** 64n);
    case 'guid':
      return guidPattern.test(shown) && shown === shown.toLowerCase();
    case 'binary':
      return /^(?:[0-9a-f]{2})*$/.test(shown);
    case 'dateTime':
    case 'dateTimeOffset':
      return isWithin(19, ticksEnd);
    default:
      return unreachable(type);
  }
}

const guidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function text(shown: string): SqlShardText {
  return Object.freeze({ kind: 'text', text: shown });
}

function binaryText(value: Bytes): SqlShardText {
  const limit = limitOf({ system: 'sql', name: 'shard-key-bytes' });
  if (limit !== undefined && value.length > limit.value) {
    return refused('too-much', `a key of ${value.length} bytes; at most ${limitText(limit)}`);
  }
  return text(Buffer.from(value).toString('hex'));
}

/** 1970 in units of 100 ns since the year 1. */
const unixTicks = 621_355_968_000_000_000n;
const ticksEnd = 3_155_378_976_000_000_000n;

function momentText(value: Date): SqlShardText {
  const ms = value.getTime();
  if (!Number.isNaN(ms)) {
    const ticks = unixTicks + BigInt(ms) * 10_000n;
    if (ticks >= 0n && ticks < ticksEnd) return text(String(ticks).padStart(19, '0'));
  }
  return refused('bad-key', `${String(ms)} is no moment of the years 1 to 9999`);
}

/**
 * A guid as a text in the order of SQL Server, which looks at the last six bytes first. For ranges
 * that a database has cut by `uniqueidentifier`.
 */
export function sqlServerGuidText(guid: string): SqlShardText {
  if (!guidPattern.test(guid)) return refused('bad-key', `'${guid}' is no guid`);
  const [first = '', second = '', third = '', fourth = '', last = ''] = guid
    .toLowerCase()
    .split('-');
  const turned = [third, second, first].map((part) =>
    Buffer.from(Buffer.from(part, 'hex').toReversed()).toString('hex'),
  );
  return text([last, fourth, ...turned].join('-'));
}

/** The load of all shards together, or the capacity of one shard, by name. */
export type ShardLoad = Readonly<Record<string, number>>;

/**
 * How many shards carry a load that is spread evenly, by the caller's figures of one shard: bytes,
 * connections, requests per second or whatever else. Refused: a figure that one shard lacks.
 */
export function sqlShardsFor(
  load: ShardLoad,
  ofShard: ShardLoad,
): { readonly kind: 'shards'; readonly shards: number; readonly by: string | undefined } | Refusal {
  let shards = 1;
  let by: string | undefined;
  for (const [name, value] of Object.entries(load)) {
    const most = own(ofShard, name);
    if (most === undefined || !(most > 0) || !(value >= 0 && value < Infinity)) {
      return refused('bad-count', `${name}: ${value} of ${most ?? 'no figure'} in each shard`);
    }
    const needed = Math.ceil(value / most);
    if (needed > Number.MAX_SAFE_INTEGER) {
      return refused('too-much', `${name}: ${value} are more than can be counted in ${most} each`);
    }
    if (needed > shards) [shards, by] = [needed, name];
  }
  return Object.freeze({ kind: 'shards', shards, by });
}
