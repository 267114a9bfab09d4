import { DecodeError, ValueError } from '../rows/model-error.js';
import { Instant } from '../rows/instant.js';
import { binaryBytesMax, stringUnitsMax } from '../rows/row-size.js';
import type { WireType, WireValue } from '../rows/row.js';
import { dateOfTicks, storableTicksMin, ticksMax, ticksOfDate } from '../rows/ticks.js';
import { propertyOf, type Property, type ValueCodec } from './property.js';

interface Scalar {
  readonly type: WireType;
  /** Other stored types that can be read without loss. */
  readonly also?: readonly WireType[];
  /** Throws `ValueError`. */
  readonly encode: (value: unknown) => WireValue;
  readonly decode: (wire: WireValue) => unknown;
}

/** A codec of values that take one stored property. */
function scalarCodec({ type, also = [], encode, decode }: Scalar): ValueCodec {
  return {
    wireNames: (name) => [name],
    write: (name, value, writer) => writer.put(name, encode(value)),
    read: (name, reader) => {
      const wire = reader.get(name);
      if (wire === undefined) return undefined;
      if (wire.type === type || also.includes(wire.type)) return decode(wire);
      throw new DecodeError(`stored as ${wire.type} where the definition has ${type}`);
    },
  };
}

function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value.slice(0, 80));
    case 'bigint':
      return `${value}n`;
    case 'number':
    case 'boolean':
      return String(value);
    default:
      return Object.prototype.toString.call(value);
  }
}

function mismatch(value: unknown, expected: string): ValueError {
  return new ValueError(`${shown(value)} is no ${expected}`);
}

const surrogate = /[\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/u;

function checkedText(value: unknown): string {
  if (typeof value !== 'string') throw mismatch(value, 'string');
  if (value.length > stringUnitsMax) {
    throw new ValueError(
      `a string of ${value.length} UTF-16 code units is longer than ${stringUnitsMax}; ` +
        'the pattern for large entities stores it',
    );
  }
  if (surrogate.test(value) && loneSurrogate.test(value)) {
    throw new ValueError('a string with half a surrogate pair has no form on the wire');
  }
  return value;
}

/** Text of at most 32,768 UTF-16 code units. */
export function string(): Property<'string', string> {
  return propertyOf(
    'string',
    scalarCodec({
      type: 'String',
      encode: (value) => ({ type: 'String', value: checkedText(value) }),
      decode: ({ value }) => value,
    }),
  );
}

function int32Of(value: unknown): WireValue {
  if (typeof value !== 'number' || !Number.isInteger(value) || value !== (value | 0)) {
    throw mismatch(value, 'whole number from -2147483648 to 2147483647');
  }
  return { type: 'Int32', value: value | 0 };
}

/** A whole number from -2147483648 to 2147483647. */
export function int32(): Property<'int32', number> {
  return propertyOf(
    'int32',
    scalarCodec({ type: 'Int32', encode: int32Of, decode: ({ value }) => value }),
  );
}

function int64Of(value: unknown): WireValue {
  if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) {
    throw mismatch(value, 'bigint from -2^63 to 2^63 - 1');
  }
  return { type: 'Int64', value };
}

/** A whole number from -2^63 to 2^63 - 1, a `bigint`. A stored Int32 is read as well. */
export function int64(): Property<'int64', bigint> {
  return propertyOf(
    'int64',
    scalarCodec({
      type: 'Int64',
      also: ['Int32'],
      encode: int64Of,
      decode: ({ value }) => BigInt(value as bigint | number),
    }),
  );
}

function doubleOf(value: unknown): WireValue {
  if (typeof value !== 'number') throw mismatch(value, 'number');
  return { type: 'Double', value };
}

/** A number; NaN, the infinities and -0 are kept. A stored Int32 is read as well. */
export function double(): Property<'double', number> {
  return propertyOf(
    'double',
    scalarCodec({
      type: 'Double',
      also: ['Int32'],
      encode: doubleOf,
      decode: ({ value }) => value,
    }),
  );
}

function booleanOf(value: unknown): WireValue {
  if (typeof value !== 'boolean') throw mismatch(value, 'boolean');
  return { type: 'Boolean', value };
}

/** True or false. */
export function boolean(): Property<'boolean', boolean> {
  return propertyOf(
    'boolean',
    scalarCodec({ type: 'Boolean', encode: booleanOf, decode: ({ value }) => value }),
  );
}

const guidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function guidOf(value: unknown): WireValue {
  const text = typeof value === 'string' ? value.toLowerCase() : '';
  if (!guidPattern.test(text)) throw mismatch(value, 'GUID such as c9da6455-213d-42c9-9a79-…');
  return { type: 'Guid', value: text };
}

/** A GUID with hyphens; stored and read in lower case. */
export function guid(): Property<'guid', string> {
  return propertyOf(
    'guid',
    scalarCodec({ type: 'Guid', encode: guidOf, decode: ({ value }) => value }),
  );
}

function binaryOf(value: unknown): WireValue {
  if (!(value instanceof Uint8Array)) throw mismatch(value, 'Uint8Array');
  if (value.length > binaryBytesMax) {
    throw new ValueError(
      `${value.length} bytes are more than ${binaryBytesMax}; ` +
        'the pattern for large entities stores them',
    );
  }
  return { type: 'Binary', value };
}

/** At most 65,536 bytes. */
export function binary(): Property<'binary', Uint8Array> {
  return propertyOf(
    'binary',
    scalarCodec({ type: 'Binary', encode: binaryOf, decode: ({ value }) => value }),
  );
}

function storableTicks(ticks: bigint): WireValue {
  if (ticks < storableTicksMin || ticks > ticksMax) {
    throw new ValueError('the service stores dates from 1601-01-01 to 9999-12-31');
  }
  return { type: 'DateTime', value: ticks };
}

/** A moment exact to 100 ns, from 1601 to 9999. */
export function instant(): Property<'instant', Instant> {
  return propertyOf(
    'instant',
    scalarCodec({
      type: 'DateTime',
      encode: (value) => {
        if (!(value instanceof Instant)) throw mismatch(value, 'Instant');
        return storableTicks(value.ticks);
      },
      decode: ({ value }) => Instant.ofTicks(value as bigint),
    }),
  );
}

function ticksOf(value: unknown): bigint {
  if (!(value instanceof Date) || Number.isNaN(value.getTime())) {
    throw mismatch(value, 'valid Date');
  }
  return ticksOfDate(value);
}

const dateTimeCodec: ValueCodec = {
  wireNames: (name) => [name],
  write: (name, value, writer) => {
    const ticks = ticksOf(value);
    const finer = writer.finer(name);
    const isUnchanged = finer !== undefined && ticksOfDate(dateOfTicks(finer)) === ticks;
    writer.put(name, storableTicks(isUnchanged ? finer : ticks));
  },
  read: (name, reader) => {
    const wire = reader.get(name);
    if (wire === undefined) return undefined;
    if (wire.type !== 'DateTime') {
      throw new DecodeError(`stored as ${wire.type} where the definition has DateTime`);
    }
    const date = dateOfTicks(wire.value);
    if (ticksOfDate(date) !== wire.value) reader.keepFiner(name, wire.value);
    return date;
  },
};

/**
 * A `Date` from 1601 to 9999. A fraction of a millisecond in a stored value is not visible, but
 * kept when the entity is written back with the same date. `instant()` shows it.
 */
export function dateTime(): Property<'dateTime', Date> {
  return propertyOf('dateTime', dateTimeCodec);
}

/** One of the given texts, stored as a String. */
export function enumeration<const T extends readonly [string, ...string[]]>(
  ...values: T
): Property<'enumeration', T[number]> {
  const known = new Set<string>(values);
  const codec = scalarCodec({
    type: 'String',
    encode: (value) => {
      const text = checkedText(value);
      if (!known.has(text)) throw mismatch(value, `one of ${values.join(', ')}`);
      return { type: 'String', value: text };
    },
    decode: ({ value }) => {
      if (known.has(String(value))) return value;
      throw new DecodeError(`${shown(value)} is none of ${values.join(', ')}`);
    },
  });
  return propertyOf('enumeration', codec, { values });
}
