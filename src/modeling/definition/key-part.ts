import { asBuffer } from '../../base/bytes.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import { Instant } from '../rows/instant.js';
import { ticksMax } from '../rows/ticks.js';
import type { AnyProperty, KindOf, PropertyKind, ValueOf } from './property.js';

/** How a value is written in a key. */
export interface KeyFormat {
  /**
   * The width of every value, in UTF-16 code units; undefined for a text of any length, which is
   * escaped.
   */
  readonly width: number | undefined;
  /** Throws `ValueError` for a value that the format cannot hold. */
  readonly format: (value: unknown) => string;
  /** Undefined for a text that the format does not produce. */
  readonly parse: (text: string) => unknown;
}

/** One value of a key. `~value` is never set; it carries the type. */
export interface KeyPart<N extends string = string, V = unknown> {
  readonly property: N;
  readonly format: KeyFormat;
  readonly '~value'?: V;
}

function part<N extends string, V>(property: N, format: KeyFormat): KeyPart<N, V> {
  return Object.freeze({ property, format });
}

function digits(value: bigint, width: number, what: unknown): string {
  const text = value.toString();
  if (value < 0n) throw new ValueError(`${String(what)} is negative; offset() writes such numbers`);
  if (text.length > width) throw new ValueError(`${String(what)} has more than ${width} digits`);
  return text.padStart(width, '0');
}

interface NumberKind {
  readonly toBigInt: (value: unknown) => bigint;
  readonly ofBigInt: (value: bigint) => unknown;
  /**
   * Added to a number so that the least becomes 0; `offsetWidth` is the digits of the greatest sum.
   */
  readonly offset: bigint;
  readonly offsetWidth: number;
}

const int32Kind: NumberKind = {
  toBigInt: (value) => {
    if (typeof value === 'number' && value === (value | 0)) return BigInt(value);
    throw new ValueError(`${String(value)} is no 32-bit whole number`);
  },
  ofBigInt: (value) => (BigInt.asIntN(32, value) === value ? Number(value) : undefined),
  offset: 2n ** 31n,
  offsetWidth: 10,
};

const int64Kind: NumberKind = {
  toBigInt: (value) => {
    if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value;
    throw new ValueError(`${String(value)} is no 64-bit bigint`);
  },
  ofBigInt: (value) => (BigInt.asIntN(64, value) === value ? value : undefined),
  offset: 2n ** 63n,
  offsetWidth: 20,
};

function shiftedFormat(kind: NumberKind, width: number, shift: bigint, sign: 1n | -1n): KeyFormat {
  const written = new RegExp(`^[0-9]{${width}}$`);
  return {
    width,
    format: (value) => digits(sign * kind.toBigInt(value) + shift, width, value),
    parse: (text) =>
      written.test(text) ? kind.ofBigInt(sign * (BigInt(text) - shift)) : undefined,
  };
}

function plainFormat(kind: NumberKind): KeyFormat {
  return {
    width: undefined,
    format: (value) => kind.toBigInt(value).toString(),
    parse: (text) => (/^(0|-?[1-9][0-9]*)$/.test(text) ? kind.ofBigInt(BigInt(text)) : undefined),
  };
}

/** An integer in a key. The format decides whether keys sort like the numbers. */
export interface NumberKeyField<N extends string, V> {
  /** With leading zeros to `width` digits. Negative and longer numbers are refused. */
  padded(width: number): KeyPart<N, V>;
  /**
   * `10^width - 1 - value` with leading zeros to `width` digits: greater numbers sort first.
   * Negative and longer numbers are refused.
   */
  descending(width: number): KeyPart<N, V>;
  /** The value plus 2^31 (10 digits) or 2^63 (20 digits), so that negative numbers sort first. */
  offset(): KeyPart<N, V>;
  /** Plain decimal. Keys do not sort like the numbers. */
  unordered(): KeyPart<N, V>;
}

function numberField<N extends string, V>(property: N, kind: NumberKind): NumberKeyField<N, V> {
  const checkWidth = (width: number): void => {
    if (Number.isInteger(width) && width >= 1 && width <= 20) return;
    throw new DefinitionError(`${property}: a number in a key has 1 to 20 digits, not ${width}`);
  };
  return Object.freeze({
    padded: (width: number) => {
      checkWidth(width);
      return part<N, V>(property, shiftedFormat(kind, width, 0n, 1n));
    },
    descending: (width: number) => {
      checkWidth(width);
      return part<N, V>(property, shiftedFormat(kind, width, 10n ** BigInt(width) - 1n, -1n));
    },
    offset: () => part<N, V>(property, shiftedFormat(kind, kind.offsetWidth, kind.offset, 1n)),
    unordered: () => part<N, V>(property, plainFormat(kind)),
  });
}

const ticksWidth = 19;

interface MomentKind {
  readonly ticksOf: (value: unknown) => bigint;
  /** Undefined when the kind cannot represent the ticks exactly. */
  readonly ofTicks: (ticks: bigint) => unknown;
}

const instantKind: MomentKind = {
  ticksOf: (value) => {
    if (value instanceof Instant) return value.ticks;
    throw new ValueError(`${String(value)} is no Instant`);
  },
  ofTicks: (ticks) => Instant.ofTicks(ticks),
};

const dateKind: MomentKind = {
  ticksOf: (value) => {
    if (value instanceof Date) return Instant.ofDate(value).ticks;
    throw new ValueError(`${String(value)} is no Date`);
  },
  // Rounded ticks would give another key when written again.
  ofTicks: (ticks) => (ticks % 10_000n === 0n ? Instant.ofTicks(ticks).toDate() : undefined),
};

function ticksFormat(kind: MomentKind, isDescending: boolean): KeyFormat {
  const turned = (ticks: bigint): bigint => (isDescending ? ticksMax - ticks : ticks);
  return {
    width: ticksWidth,
    format: (value) => digits(turned(kind.ticksOf(value)), ticksWidth, value),
    parse: (text) => {
      const ticks = /^[0-9]{19}$/.test(text) ? turned(BigInt(text)) : -1n;
      return ticks >= 0n && ticks <= ticksMax ? kind.ofTicks(ticks) : undefined;
    },
  };
}

/** A moment in a key, as 19 digits of ticks: 100 ns units since 0001-01-01T00:00:00Z. */
export interface MomentKeyField<N extends string, V> {
  /** Oldest first. */
  ascending(): KeyPart<N, V>;
  /** Newest first: the ticks from the moment to 9999-12-31T23:59:59.9999999Z. */
  descending(): KeyPart<N, V>;
}

function momentField<N extends string, V>(property: N, kind: MomentKind): MomentKeyField<N, V> {
  return Object.freeze({
    ascending: () => part<N, V>(property, ticksFormat(kind, false)),
    descending: () => part<N, V>(property, ticksFormat(kind, true)),
  });
}

const textFormat: KeyFormat = {
  width: undefined,
  format: (value) => {
    if (typeof value === 'string') return value;
    throw new ValueError(`${String(value)} is no string`);
  },
  parse: (text) => text,
};

/** How a key uses an item of a list: a text as it is, a number by a format. */
export type ItemField<N extends string, V> = V extends readonly string[]
  ? KeyPart<N, string>
  : NumberKeyField<N, number>;

/** `ItemField` at run time, where the items of a list have no type: for texts and for numbers. */
export function itemFieldOf(property: string): object {
  return Object.freeze({ ...part(property, textFormat), ...numberField(property, int32Kind) });
}

/** Whether a part of a key is a text as it is. */
export function isTextPart({ format }: KeyPart): boolean {
  return format === textFormat;
}

const booleanFormat: KeyFormat = {
  width: undefined,
  format: (value) => {
    if (typeof value === 'boolean') return String(value);
    throw new ValueError(`${String(value)} is no boolean`);
  },
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};

const guidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const guidFormat: KeyFormat = {
  width: 36,
  format: (value) => {
    const text = typeof value === 'string' ? value.toLowerCase() : '';
    if (guidPattern.test(text)) return text;
    throw new ValueError(`${String(value)} is no GUID`);
  },
  parse: (text) => (guidPattern.test(text) ? text : undefined),
};

/** Hexadecimal digits, whose order is that of the bytes. */
const bytesFormat: KeyFormat = {
  width: undefined,
  format: (value) => {
    if (value instanceof Uint8Array) return asBuffer(value).toString('hex');
    throw new ValueError(`${String(value)} is no Uint8Array`);
  },
  parse: (text) =>
    /^(?:[0-9a-f]{2})*$/.test(text) ? new Uint8Array(Buffer.from(text, 'hex')) : undefined,
};

function oneOf(values: readonly string[]): KeyFormat {
  const known = new Set(values);
  return {
    width: undefined,
    format: (value) => {
      if (typeof value === 'string' && known.has(value)) return value;
      throw new ValueError(`${String(value)} is none of ${values.join(', ')}`);
    },
    parse: (text) => (known.has(text) ? text : undefined),
  };
}

/** Kinds that a key template uses directly, because they have one format. */
type TextKind = 'string' | 'boolean' | 'guid' | 'enumeration' | 'binary';

/** Kinds that can be in a key: each value has exactly one text. */
export type KeyableKind = TextKind | 'int32' | 'int64' | 'instant' | 'dateTime';

/** How a key template can use a property; `never` for kinds that cannot be in a key. */
export type KeyField<N extends string, K extends PropertyKind, V> = K extends TextKind
  ? KeyPart<N, V>
  : K extends 'int32' | 'int64'
    ? NumberKeyField<N, V>
    : K extends 'instant' | 'dateTime'
      ? MomentKeyField<N, V>
      : never;

/** The key field of one property of a definition. */
export type KeyFieldOf<N extends string, P extends AnyProperty> = KeyField<
  N,
  KindOf<P>,
  ValueOf<P>
>;

/** `KeyFieldOf` at run time; undefined for a kind that cannot be in a key. */
export function keyFieldOf(property: string, { model }: AnyProperty): unknown {
  switch (model.kind) {
    case 'string':
      return part(property, textFormat);
    case 'enumeration':
      return part(property, oneOf(model.values ?? []));
    case 'boolean':
      return part(property, booleanFormat);
    case 'guid':
      return part(property, guidFormat);
    case 'int32':
      return numberField(property, int32Kind);
    case 'int64':
      return numberField(property, int64Kind);
    case 'instant':
      return momentField(property, instantKind);
    case 'dateTime':
      return momentField(property, dateKind);
    case 'binary':
      return part(property, bytesFormat);
    case 'double':
    case 'json':
    case 'embedded':
    case 'list':
      return undefined;
    default:
      return undefined;
  }
}
