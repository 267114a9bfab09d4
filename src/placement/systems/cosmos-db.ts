import { unreachable } from '../../base/invariant.js';
import { murmur3x64 } from '../hashes/murmur3-x64.js';
import { murmur3x86 } from '../hashes/murmur3-x86.js';
import { limitText, type KnownLimit } from '../limits/known-limit.js';
import { limitOf } from '../limits/known-limits.js';
import { refused, type Refusal } from './refusal.js';

// Cosmos DB: the effective partition key of a value, in upper-case hexadecimal digits. Only the
// service knows the points at which it has split a container; it returns them as ranges.

const encoder = new TextEncoder();

/** A value of a partition key; `undefined`: the item has no such property. */
export type CosmosValue = string | number | boolean | null | undefined;

/**
 * How a container hashes: `v1` (made before 2019-05-03), `v2`, or `multi-hash` for up to three
 * levels, of which the first ones make the prefix.
 */
export type CosmosVersion = 'v1' | 'v2' | 'multi-hash';

/** A physical partition: the keys from `min` on and before `max`, as the service tells them. */
export interface CosmosRange {
  readonly id: string;
  readonly min: string;
  readonly max: string;
}

const types = { undefined: 0, null: 1, false: 2, true: 3, number: 5, string: 8 } as const;

/** The characters of a text that version 1 takes into account. */
const charactersV1 = 100;

/**
 * The effective partition key of one value, or of the levels of a hierarchical key. `v1` takes one
 * value. Numbers are doubles; lone surrogates count as U+FFFD. −0 has another key than 0, as in the
 * official client, whose requests say 0 for both: give 0 for an item that it has written. Refused:
 * no value at all, several values of `v1`, more than three levels, numbers that JSON does not have,
 * and values of other types, such as objects.
 */
export function cosmosKey(
  version: CosmosVersion,
  values: readonly CosmosValue[],
): { readonly kind: 'key'; readonly key: string } | Refusal {
  const bad = valuesRefusal(version, values);
  if (bad !== undefined) return bad;
  switch (version) {
    case 'v1':
      return keyOf(keyV1(values[0]));
    case 'v2':
      return keyOf(keyV2(values));
    case 'multi-hash':
      return keyOf(values.map((value) => keyV2([value])).join(''));
    default:
      return unreachable(version);
  }
}

function keyOf(key: string): { readonly kind: 'key'; readonly key: string } {
  return Object.freeze({ kind: 'key', key });
}

function valuesRefusal(
  version: CosmosVersion,
  values: readonly CosmosValue[],
): Refusal | undefined {
  if (values.length === 0) return refused('bad-key', 'a partition key has at least one value');
  const levels = levelsOf(version);
  if (levels !== undefined && values.length > levels) {
    const what = `${values.length} values; ${version} has at most ${levels}`;
    return refused('too-much', `${what}; join the last ones into one text`);
  }
  const odd = values.findIndex((value) => valueFault(value) !== undefined);
  if (odd < 0) return undefined;
  return refused('bad-key', `value ${odd + 1} of the key ${valueFault(values[odd]) ?? ''}`);
}

/** What makes a value unfit for a key. Callers without types may give anything. */
function valueFault(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `is ${value}, which is no number of JSON`;
    default:
      if (value === null) return undefined;
      return `is of the type ${typeof value}; give a text, a number, a boolean, null or undefined`;
  }
}

function levelsOf(version: CosmosVersion): number | undefined {
  if (version === 'v1') return 1;
  return limitOf({ system: 'cosmos-db', name: 'key-levels', tier: version })?.value;
}

function keyV2(values: readonly CosmosValue[]): string {
  const [low, high] = murmur3x64(Buffer.concat(values.map(hashed(0xff))));
  const bytes = Buffer.alloc(16);
  bytes.writeBigUInt64BE(high, 0);
  bytes.writeBigUInt64BE(low, 8);
  // The first bits stay 0, so that no key reaches `FF`, the end of the last range.
  bytes.writeUInt8(bytes.readUInt8(0) & 0x3f, 0);
  return bytes.toString('hex').toUpperCase();
}

function keyV1(value: CosmosValue): string {
  const shown = typeof value === 'string' ? value.slice(0, charactersV1) : value;
  const hash = murmur3x86(hashed(0)(shown));
  return Buffer.concat([orderedNumber(hash), ordered(shown)])
    .toString('hex')
    .toUpperCase();
}

/** The hashed bytes of a value: its type, its bytes, and the end mark of a text. */
function hashed(end: number): (value: CosmosValue) => Buffer {
  return (value) => {
    if (typeof value === 'string') {
      return Buffer.concat([Buffer.of(types.string), encoder.encode(value), Buffer.of(end)]);
    }
    if (typeof value !== 'number') return Buffer.of(types[typeOf(value)]);
    const bytes = Buffer.alloc(9, types.number);
    bytes.writeDoubleLE(value, 1);
    return bytes;
  };
}

function typeOf(value: boolean | null | undefined): 'undefined' | 'null' | 'false' | 'true' {
  if (value === undefined) return 'undefined';
  if (value === null) return 'null';
  return value ? 'true' : 'false';
}

/** A value in bytes whose order is that of the values. */
function ordered(value: CosmosValue): Buffer {
  if (typeof value === 'number') return orderedNumber(value);
  return typeof value === 'string' ? orderedText(value) : Buffer.of(types[typeOf(value)]);
}

/** Bytes are one more than those of the text, so that 0 can end it. */
function orderedText(text: string): Buffer {
  const bytes = encoder.encode(text).map((byte) => (byte < 0xff ? byte + 1 : byte));
  return Buffer.concat([Buffer.of(types.string), bytes, Buffer.of(0)]);
}

const signBit = 2n ** 63n;

/** The type, the first 8 bits, then groups of 7 bits whose lowest bit says that another follows. */
function orderedNumber(value: number): Buffer {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const raised = bits < signBit ? bits ^ signBit : BigInt.asUintN(64, ~bits + 1n);
  const bytes: number[] = [types.number, Number(raised >> 56n)];
  let rest = BigInt.asUintN(64, raised << 8n);
  while (rest !== 0n) {
    const group = Number(rest >> 56n) & 0xfe;
    rest = BigInt.asUintN(64, rest << 7n);
    bytes.push(rest === 0n ? group : group | 1);
  }
  return Buffer.from(bytes);
}

/**
 * The physical partition of an effective key among the ranges that the service has told. Refused:
 * no range or several contain it, so the ranges are not those of one moment.
 */
export function cosmosRangeOf(
  key: string,
  ranges: readonly CosmosRange[],
): { readonly kind: 'range'; readonly range: CosmosRange } | Refusal {
  const found = ranges.filter(({ min, max }) => min <= key && key < max);
  const [range] = found;
  if (range !== undefined && found.length === 1) return Object.freeze({ kind: 'range', range });
  const what = `${found.length} of ${ranges.length} ranges contain ${key}`;
  return refused('outside', `${what}; read the ranges of the container again`);
}

/**
 * The keys of a hierarchical partition key that begin with these first levels: from `min` on and
 * before `max`.
 */
export function cosmosPrefixRange(
  values: readonly CosmosValue[],
): { readonly kind: 'keys'; readonly min: string; readonly max: string } | Refusal {
  const first = cosmosKey('multi-hash', values);
  if (first.kind === 'refused') return first;
  return Object.freeze({ kind: 'keys', min: first.key, max: `${first.key}FF` });
}

/**
 * Why the service rejects a key or does not distinguish it from others; undefined: the key is
 * valid. `own`: limits of the caller.
 */
export function cosmosKeyFault(
  version: CosmosVersion,
  values: readonly CosmosValue[],
  own: readonly KnownLimit[] = [],
): Refusal | undefined {
  const bad = valuesRefusal(version, values);
  if (bad !== undefined) return bad;
  const texts = values.filter((value) => typeof value === 'string');
  const [name, tier, size] =
    version === 'v1'
      ? (['key-characters', 'v1', texts[0]?.length ?? 0] as const)
      : ([
          'key-bytes',
          'v2',
          Math.max(0, ...texts.map((text) => encoder.encode(text).length)),
        ] as const);
  const limit = limitOf({ system: 'cosmos-db', name, tier }, own);
  if (limit === undefined || size <= limit.value) return undefined;
  return refused('too-much', `a key of ${size}; the limit is ${limitText(limit)}`);
}
