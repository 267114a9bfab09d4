import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import {
  encodeBag,
  firstProperty,
  propertyTag,
  propertyTags,
  readDouble,
  readI32,
  readU32,
  readValue,
  valueEnd,
  valueStart,
} from '../../wire/edm/bag.js';
import { ticksFromMicros } from '../../wire/edm/date-time.js';
import type { ComparisonOperator } from '../../wire/edm/filter.js';
import type { EdmValue } from '../../wire/edm/value.js';
import { mismatchHolds } from './mismatch.js';

/** Tests the property whose header is at an offset of a bag. */
export type PropertyTest = (bag: Bytes, at: number) => boolean;

/** How the stored value stands to the literal: negative, zero, positive, or NaN for neither. */
type PropertyOrder = (bag: Bytes, at: number) => number;

/** Compares a stored property with a literal by the rules of spec table-service §5.4. */
export function valueTest(operator: ComparisonOperator, literal: EdmValue): PropertyTest {
  const holds = orderTest(operator);
  const mismatch = mismatchHolds(operator);
  if (literal.type === 'Edm.Int32') {
    const order = int32Order(literal.value);
    return (bag, at) => {
      const tag = propertyTag(bag, at);
      return isNumberTag(tag) ? holds(order(bag, at, tag)) : mismatch;
    };
  }
  if (literal.type === 'Edm.Int64') {
    const { int64, double } = propertyTags;
    const [asInt64, asDouble] = [int64Order(literal.value), doubleOrder(Number(literal.value))];
    return (bag, at) => {
      const tag = propertyTag(bag, at);
      if (tag === int64) return holds(asInt64(bag, at));
      return tag === double ? holds(asDouble(bag, at)) : mismatch;
    };
  }
  const order = sameTypeOrder(literal);
  const [first, second] = tagsOf(literal.type);
  return (bag, at) => {
    const tag = propertyTag(bag, at);
    return tag === first || tag === second ? holds(order(bag, at)) : mismatch;
  };
}

/** Turns an order into the result of a comparison. NaN is unequal and nothing else. */
export function orderTest(operator: ComparisonOperator): (order: number) => boolean {
  switch (operator) {
    case 'eq':
      return (order) => order === 0;
    case 'ne':
      return (order) => order !== 0;
    case 'lt':
      return (order) => order < 0;
    case 'le':
      return (order) => order <= 0;
    case 'gt':
      return (order) => order > 0;
    case 'ge':
      return (order) => order >= 0;
    default:
      return unreachable(operator);
  }
}

/** How a version, in microseconds since 1970, stands to an instant in ticks of 100 ns. */
export function timestampOrder(ticks: bigint): (version: number) => number {
  const since1970 = ticks - ticksFromMicros(0);
  const rest = ((since1970 % 10n) + 10n) % 10n;
  const micros = Number((since1970 - rest) / 10n);
  const whenEqual = rest === 0n ? 0 : -1;
  return (version) => (version === micros ? whenEqual : version - micros);
}

type OtherLiteral = Exclude<EdmValue, { type: 'Edm.Int32' | 'Edm.Int64' }>;

function tagsOf(type: OtherLiteral['type']): readonly [number, number?] {
  switch (type) {
    case 'Edm.String':
      return [propertyTags.plainString, propertyTags.string];
    case 'Edm.Double':
      return [propertyTags.double];
    case 'Edm.Boolean':
      return [propertyTags.boolean];
    case 'Edm.DateTime':
      return [propertyTags.dateTime];
    case 'Edm.Guid':
      return [propertyTags.guid];
    case 'Edm.Binary':
      return [propertyTags.binary];
    default:
      return unreachable(type);
  }
}

function sameTypeOrder(literal: OtherLiteral): PropertyOrder {
  switch (literal.type) {
    case 'Edm.String':
      return textOrder(literal.value, storedBytes(literal));
    case 'Edm.Double':
      return doubleOrder(literal.value);
    case 'Edm.DateTime':
      return int64Order(literal.value);
    case 'Edm.Boolean':
    case 'Edm.Guid':
    case 'Edm.Binary':
      return bytesOrder(storedBytes(literal));
    default:
      return unreachable(literal);
  }
}

/** The bytes that a property with this value has in a bag. */
function storedBytes(value: EdmValue): Bytes {
  const bag = encodeBag([{ name: 'v', value }]);
  return bag.subarray(valueStart(bag, firstProperty), valueEnd(bag, firstProperty));
}

/** An Int32 literal widens to whatever number type the property has. */
function int32Order(literal: number): (bag: Bytes, at: number, tag: number) => number {
  const asInt64 = int64Order(BigInt(literal));
  const asDouble = doubleOrder(literal);
  return (bag, at, tag) => {
    if (tag === propertyTags.int32) return readI32(bag, valueStart(bag, at)) - literal;
    return tag === propertyTags.int64 ? asInt64(bag, at) : asDouble(bag, at);
  };
}

function isNumberTag(tag: number): boolean {
  return tag === propertyTags.int32 || tag === propertyTags.int64 || tag === propertyTags.double;
}

/** In two halves, because a bigint would be made for each row otherwise. */
function int64Order(literal: bigint): PropertyOrder {
  const high = Number(literal >> 32n);
  const low = Number(BigInt.asUintN(32, literal));
  return (bag, at) => {
    const start = valueStart(bag, at);
    const order = readI32(bag, start) - high;
    return order === 0 ? readU32(bag, start + 4) - low : order;
  };
}

function doubleOrder(literal: number): PropertyOrder {
  return (bag, at) => {
    const value = readDouble(bag, valueStart(bag, at));
    if (value < literal) return -1;
    return value > literal ? 1 : value === literal ? 0 : Number.NaN;
  };
}

function bytesOrder(literal: Bytes): PropertyOrder {
  return (bag, at) => {
    const start = valueStart(bag, at);
    const length = valueEnd(bag, at) - start;
    const shared = Math.min(length, literal.length);
    for (let index = 0; index < shared; index += 1) {
      const difference = (bag[start + index] ?? 0) - (literal[index] ?? 0);
      if (difference !== 0) return difference;
    }
    return length - literal.length;
  };
}

/** The lead byte of U+E000…U+FFFF at least; of some lone surrogates and others it is one less. */
const highLead = 0xed;
/** The lead byte of a code point that is a pair of surrogates in UTF-16. */
const pairLead = 0xf0;

/**
 * Ordinal order of UTF-16 code units. That of the UTF-8 bytes is the same, except where a pair of
 * surrogates meets U+D800…U+FFFF; only there the text is decoded.
 */
function textOrder(literal: string, literalBytes: Bytes): PropertyOrder {
  return (bag, at) => {
    const start = valueStart(bag, at);
    const length = valueEnd(bag, at) - start;
    const shared = Math.min(length, literalBytes.length);
    for (let index = 0; index < shared; index += 1) {
      const left = bag[start + index] ?? 0;
      const right = literalBytes[index] ?? 0;
      if (left === right) continue;
      const unlike = Math.max(left, right) >= pairLead && Math.min(left, right) >= highLead;
      return unlike ? decodedOrder(bag, at, literal) : left - right;
    }
    return length - literalBytes.length;
  };
}

function decodedOrder(bag: Bytes, at: number, literal: string): number {
  const { value } = readValue(bag, at);
  return typeof value === 'string' && value < literal ? -1 : 1;
}
