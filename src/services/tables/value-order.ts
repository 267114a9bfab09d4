import { asBuffer, compareBytes, type Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import {
  encodeBag,
  firstProperty,
  fragmentEnd,
  propertyTag,
  propertyTags,
  jsonText,
  valueStart,
} from '../../model/bag/bag.js';
import { dateTimeMax, dateTimeMin } from '../../model/edm/date-time.js';
import type { EdmValue } from '../../model/edm/value.js';

/**
 * The order of a stored value, of the property whose header is at an offset of a bag, and a
 * literal: negative, zero, positive, or NaN for unordered. Like the accessors of bags, orders do
 * not use the length of the bytes and do not keep them.
 */
export type PropertyOrder = (bag: Bytes, at: number) => number;

/** The order of any type against an Int32, to which the literal widens. */
export function int32Order(literal: number): PropertyOrder {
  const asInt64 = int64Order(BigInt(literal));
  const asDouble = doubleOrder(literal);
  return (bag, at) => {
    const tag = propertyTag(bag, at);
    if (tag === propertyTags.int32) {
      return int32At(bag, at) - literal;
    }
    return tag === propertyTags.int64 ? asInt64(bag, at) : asDouble(bag, at);
  };
}

/** Compares sign, then number of digits, then digits: exact, and without bigints. */
export function int64Order(literal: bigint): PropertyOrder {
  const digits = quotedBytes({ type: 'Edm.Int64', value: literal });
  const negative = digits[0] === minus;
  const sign = negative ? -1 : 1;
  return (bag, at) => {
    const start = valueStart(bag, at) + 1;
    if ((bag[start] === minus) !== negative) return -sign;
    const length = fragmentEnd(bag, at) - 1 - start;
    if (length !== digits.length) return length < digits.length ? -sign : sign;
    for (let index = 0; index < length; index += 1) {
      const difference = (bag[start + index] ?? 0) - (digits[index] ?? 0);
      if (difference !== 0) return difference * sign;
    }
    return 0;
  };
}

export function doubleOrder(literal: number): PropertyOrder {
  return (bag, at) => {
    const value = doubleAt(bag, at);
    if (value < literal) return -1;
    return value > literal ? 1 : value === literal ? 0 : Number.NaN;
  };
}

type OrderedLiteral = Exclude<EdmValue, { type: 'Edm.Int32' | 'Edm.Int64' | 'Edm.Double' }>;

/** The order of stored values of the literal's type. */
export function sameTypeOrder(literal: OrderedLiteral): PropertyOrder {
  switch (literal.type) {
    case 'Edm.String':
      return stringOrder(literal.value, quotedBytes(literal));
    case 'Edm.DateTime':
      // Dates in stored entities are from 1601 to 9999; the texts of other years do not sort.
      if (literal.value < dateTimeMin) return () => 1;
      return literal.value > dateTimeMax ? () => -1 : dateTimeOrder(quotedBytes(literal));
    case 'Edm.Guid':
      return quotedOrder(quotedBytes(literal), 1);
    case 'Edm.Boolean':
      return (bag, at) => Number(isTrue(bag, at)) - Number(literal.value);
    case 'Edm.Binary':
      return binaryOrder(literal.value);
    default:
      return unreachable(literal);
  }
}

/** Zero when the stored text equals that of the literal; each value has one text. */
export function textEquality(literal: EdmValue): PropertyOrder {
  const expected = valueBytes(literal);
  const { length } = expected;
  return (bag, at) => {
    const start = valueStart(bag, at);
    if (fragmentEnd(bag, at) - start !== length) return 1;
    for (let index = 0; index < length; index += 1) {
      if (bag[start + index] !== expected[index]) return 1;
    }
    return 0;
  };
}

/** The number of a stored Int32. */
export function int32At(bag: Bytes, at: number): number {
  return wholeNumber(bag, valueStart(bag, at), fragmentEnd(bag, at));
}

/** The number of a stored Double. */
export function doubleAt(bag: Bytes, at: number): number {
  return doubleNumber(bag, valueStart(bag, at), fragmentEnd(bag, at));
}

/** Whether a stored Boolean is true. */
export function isTrue(bag: Bytes, at: number): boolean {
  return bag[valueStart(bag, at)] === 0x74;
}

/** Decodes only as much of a stored value as decides: one byte more than the literal. */
function binaryOrder(literal: Bytes): PropertyOrder {
  const charactersMax = Math.ceil((literal.length + 1) / 3) * 4;
  return (bag, at) => {
    const start = valueStart(bag, at) + 1;
    const end = Math.min(fragmentEnd(bag, at) - 1, start + charactersMax);
    return compareBytes(
      Buffer.from(asBuffer(bag).toString('latin1', start, end), 'base64'),
      literal,
    );
  };
}

const minus = 0x2d;
const point = 0x2e;
const backslash = 0x5c;
const letterU = 0x75;

/** The bytes that a property with this value has in a bag. */
export function valueBytes(value: EdmValue): Bytes {
  const bag = encodeBag([{ name: 'v', value }]);
  return bag.subarray(valueStart(bag, firstProperty), fragmentEnd(bag, firstProperty));
}

/** The bytes that a property with this value has in a bag, without the quotes. */
function quotedBytes(value: EdmValue): Bytes {
  return valueBytes(value).subarray(1, -1);
}

/** Texts of dates, all with four-digit years, sort without their `Z`. */
function dateTimeOrder(literal: Bytes): PropertyOrder {
  return quotedOrder(literal.subarray(0, -1), 2);
}

/** Byte order of the content of stored strings, without their last `cut` bytes. */
function quotedOrder(literal: Bytes, cut: number): PropertyOrder {
  return (bag, at) => {
    const start = valueStart(bag, at) + 1;
    const length = fragmentEnd(bag, at) - cut - start;
    const difference = firstDifference(bag, start, length, literal);
    if (difference === -1) return length - literal.length;
    return (bag[start + difference] ?? 0) - (literal[difference] ?? 0);
  };
}

/** The offset where stored bytes first differ from others; -1 when one is a prefix of the other. */
function firstDifference(bag: Bytes, start: number, length: number, literal: Bytes): number {
  const shared = Math.min(length, literal.length);
  for (let index = 0; index < shared; index += 1) {
    if (bag[start + index] !== literal[index]) return index;
  }
  return -1;
}

/** The lead byte of U+E000…U+FFFF at least. */
const highLead = 0xee;
/** The lead byte of a code point that is a pair of surrogates in UTF-16. */
const pairLead = 0xf0;
/** Bytes of the longest escape, `\u001f`. */
const escapeBytesMax = 6;

/**
 * Ordinal order of UTF-16 code units. It equals the order of the stored bytes except where a
 * surrogate pair meets U+E000…U+FFFF, and in or next to an escape; only there the text is decoded.
 */
function stringOrder(literal: string, literalBytes: Bytes): PropertyOrder {
  return (bag, at) => {
    const start = valueStart(bag, at) + 1;
    const length = fragmentEnd(bag, at) - 1 - start;
    const difference = firstDifference(bag, start, length, literalBytes);
    if (difference === -1) return length - literalBytes.length;
    const left = bag[start + difference] ?? 0;
    const right = literalBytes[difference] ?? 0;
    const unlike = Math.max(left, right) >= pairLead && Math.min(left, right) >= highLead;
    if (unlike || left === backslash || isNearEscape(literalBytes, difference)) {
      return decodedOrder(bag, start, { length, difference }, literal);
    }
    return left - right;
  };
}

/** True when a byte may be part of an escape; the bytes before it are the same on both sides. */
function isNearEscape(text: Bytes, at: number): boolean {
  for (let index = Math.max(0, at - escapeBytesMax + 1); index <= at; index += 1) {
    if (text[index] === backslash) return true;
  }
  return false;
}

/**
 * The order of the decoded texts. Decodes only as much as decides: up to two units after the one
 * with the first different byte.
 */
function decodedOrder(
  bag: Bytes,
  start: number,
  { length, difference }: { readonly length: number; readonly difference: number },
  literal: string,
): number {
  let at = 0;
  while (at < length && at <= difference)
    at += unitBytes(bag[start + at] ?? 0, bag[start + at + 1]);
  if (at < length) at += unitBytes(bag[start + at] ?? 0, bag[start + at + 1]);
  return jsonText(bag, start, start + at) < literal ? -1 : 1;
}

/**
 * The bytes of one unit in the content of a JSON string, a character or an escape, from its first
 * two.
 */
function unitBytes(first: number, second: number | undefined): number {
  if (first === backslash) return second === letterU ? escapeBytesMax : 2;
  if (first < 0x80) return 1;
  return first >= pairLead ? 4 : first >= 0xe0 ? 3 : 2;
}

/** The tag of a stored property of a type. */
export function tagOf(type: EdmValue['type']): number {
  switch (type) {
    case 'Edm.String':
      return propertyTags.string;
    case 'Edm.Int32':
      return propertyTags.int32;
    case 'Edm.Int64':
      return propertyTags.int64;
    case 'Edm.Double':
      return propertyTags.double;
    case 'Edm.Boolean':
      return propertyTags.boolean;
    case 'Edm.DateTime':
      return propertyTags.dateTime;
    case 'Edm.Guid':
      return propertyTags.guid;
    case 'Edm.Binary':
      return propertyTags.binary;
    default:
      return unreachable(type);
  }
}

function wholeNumber(bag: Bytes, start: number, end: number): number {
  const negative = bag[start] === minus;
  let value = 0;
  for (let index = negative ? start + 1 : start; index < end; index += 1) {
    value = value * 10 + (bag[index] ?? 0) - 48;
  }
  return negative ? -value : value;
}

const powersOfTen = Array.from({ length: 16 }, (_, exponent) => 10 ** exponent);

/** Up to this many bytes, digits are an integer that a double represents exactly. */
const exactDigitsMax = 15;

/**
 * The number of a stored Double. Few digits are an exact integer over an exact power of ten, so
 * their quotient is correctly rounded; the platform parses all others.
 */
function doubleNumber(bag: Bytes, start: number, end: number): number {
  const negative = bag[start] === minus;
  const from = negative ? start + 1 : start;
  if (end - from > exactDigitsMax) return platformNumber(bag, start, end);
  let value = 0;
  let fractionStart = end;
  for (let index = from; index < end; index += 1) {
    const byte = bag[index] ?? 0;
    if (byte === point) fractionStart = index + 1;
    else if (byte >= 48 && byte <= 57) value = value * 10 + byte - 48;
    else return platformNumber(bag, start, end);
  }
  const quotient = value / (powersOfTen[end - fractionStart] ?? 1);
  return negative ? -quotient : quotient;
}

function platformNumber(bag: Bytes, start: number, end: number): number {
  const quotes = bag[start] === 0x22 ? 1 : 0;
  return Number(asBuffer(bag).toString('latin1', start + quotes, end - quotes));
}
