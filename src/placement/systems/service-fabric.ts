import { unreachable } from '../../base/invariant.js';
import { fnv1of32, fnv1of64 } from '../hashes/fnv1.js';
import { countRefusal, refused, type Refusal } from './refusal.js';

// Service Fabric: the partitions of a service. Their number is fixed when the service is created.

const encoder = new TextEncoder();
const keyLeast = -(2n ** 63n);
const keyMost = 2n ** 63n - 1n;
/** More ranges are not listed; the partition of a key is told however many there are. */
const rangesMost = 100_000;

/** `int64`: the keys from `low` to `high`, both included, over `count` partitions. */
export type FabricScheme =
  | { readonly kind: 'singleton' }
  | { readonly kind: 'named'; readonly names: readonly string[] }
  | { readonly kind: 'int64'; readonly low: bigint; readonly high: bigint; readonly count: number };

export type FabricKey =
  | { readonly kind: 'none' }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'int64'; readonly key: bigint };

/** Keys from `low` to `high`, both included. */
export interface FabricRange {
  readonly low: bigint;
  readonly high: bigint;
}

/** `partition` counts from 0; `range` is there for Int64 schemes. */
export type FabricPlace =
  | { readonly kind: 'partition'; readonly partition: number; readonly range?: FabricRange }
  | Refusal;

/**
 * The ranges of an Int64 scheme: the first `(high − low + 1) mod count` are one key wider. Refused:
 * bounds beyond 64 bits or in the wrong order, more partitions than keys, and more than 100,000.
 */
export function fabricRanges(
  low: bigint,
  high: bigint,
  count: number,
): { readonly kind: 'ranges'; readonly ranges: readonly FabricRange[] } | Refusal {
  const bad = schemeRefusal(low, high, count);
  if (bad !== undefined) return bad;
  if (count > rangesMost) {
    const what = `${count} ranges are more than ${rangesMost}, which are listed at most`;
    return refused('too-much', `${what}; ask for the range of a key, as fabricPartition tells it`);
  }
  const ranges = Array.from({ length: count }, (_, index) => rangeAt(low, high, count, index));
  return Object.freeze({ kind: 'ranges', ranges: Object.freeze(ranges) });
}

function schemeRefusal(low: bigint, high: bigint, count: number): Refusal | undefined {
  if (low < keyLeast || high > keyMost) return refused('outside', 'keys have 64 bits with a sign');
  if (low > high) return refused('outside', `the low key ${low} is above the high key ${high}`);
  const bad = countRefusal('partitions', count);
  if (bad !== undefined) return bad;
  if (BigInt(count) <= high - low + 1n) return undefined;
  return refused('bad-count', `${count} partitions for ${high - low + 1n} keys; give fewer`);
}

function rangeAt(low: bigint, high: bigint, count: number, index: number): FabricRange {
  const start = (at: number): bigint => low + firstOf(high - low + 1n, count, at);
  return Object.freeze({ low: start(index), high: start(index + 1) - 1n });
}

/** The first of `keys` keys, counted from 0, that a partition has. */
function firstOf(keys: bigint, count: number, index: number): bigint {
  const wider = keys % BigInt(count);
  const at = BigInt(index);
  return at * (keys / BigInt(count)) + (at < wider ? at : wider);
}

/** The partition of a key. Refused: a key of another kind than the scheme, outside of it. */
export function fabricPartition(scheme: FabricScheme, key: FabricKey): FabricPlace {
  switch (scheme.kind) {
    case 'singleton':
      return key.kind === 'none'
        ? Object.freeze({ kind: 'partition', partition: 0 })
        : otherKind('no key', key);
    case 'named':
      return key.kind === 'name' ? namedPlace(scheme.names, key.name) : otherKind('a name', key);
    case 'int64':
      return key.kind === 'int64' ? int64Place(scheme, key.key) : otherKind('a number', key);
    default:
      return unreachable(scheme);
  }
}

function otherKind(wanted: string, { kind }: FabricKey): Refusal {
  const given = { none: 'no key', name: 'a name', int64: 'a number' }[kind];
  return refused('bad-key', `the scheme takes ${wanted}, not ${given}`);
}

function namedPlace(names: readonly string[], name: string): FabricPlace {
  const partition = names.indexOf(name);
  if (partition >= 0) return Object.freeze({ kind: 'partition', partition });
  return refused('unknown-name', `there is no partition '${name}'; names are exact`);
}

function int64Place(
  { low, high, count }: FabricScheme & { readonly kind: 'int64' },
  key: bigint,
): FabricPlace {
  const bad = schemeRefusal(low, high, count);
  if (bad !== undefined) return bad;
  if (key < low || key > high) return refused('outside', `${key} is not from ${low} to ${high}`);
  const keys = high - low + 1n;
  const width = keys / BigInt(count);
  const wider = keys % BigInt(count);
  const at = key - low;
  const ofWider = wider * (width + 1n);
  const index = at < ofWider ? at / (width + 1n) : wider + (at - ofWider) / width;
  const partition = Number(index);
  const range = rangeAt(low, high, count, partition);
  return Object.freeze({ kind: 'partition', partition, range });
}

/**
 * The recommended key of a text: FNV-1 of 64 bits of its UTF-8 bytes, with a sign; or of 32 bits,
 * 0 to 2³² − 1, for schemes of that range.
 */
export function fabricKeyOf(text: string, bits: 32 | 64 = 64): bigint {
  const bytes = encoder.encode(text);
  return bits === 64 ? BigInt.asIntN(64, fnv1of64(bytes)) : BigInt(fnv1of32(bytes));
}
