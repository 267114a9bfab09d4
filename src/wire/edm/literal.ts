import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { StorageError } from '../errors/storage-error.js';
import { dateTimeMax, dateTimeMin, formatUsDateTime, parseDateTime } from './date-time.js';
import { hexDigitValue, parseGuid } from './guid.js';
import type { EdmType, EdmValue } from './value.js';

/** Values from their texts, with the range of each type (spec table-service §2.5 and §5.2). */

export const int32Min = -2_147_483_648;
export const int32Max = 2_147_483_647;
const int64Min = -9_223_372_036_854_775_808n;
const int64Max = 9_223_372_036_854_775_807n;

const integerText = /^[+-]?[0-9]{1,64}$/;
const numberText = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

export function isInt32(value: number): boolean {
  return (value | 0) === value;
}

/** A whole number from decimal digits with an optional sign; undefined when out of range. */
export function parseInt32(text: string): number | undefined {
  if (!integerText.test(text)) return undefined;
  const value = Number(text);
  if (value < int32Min || value > int32Max) return undefined;
  return value | 0;
}

/** Digits that a double holds exactly. */
const exactDigitsMax = 15;

export function parseInt64(text: string): bigint | undefined {
  const few = fewDigits(text);
  if (few !== -1) return BigInt(few);
  if (!integerText.test(text)) return undefined;
  const value = BigInt(text);
  return value < int64Min || value > int64Max ? undefined : value;
}

/** The number of few digits without sign, which most are; -1 for any other text. */
function fewDigits(text: string): number {
  const { length } = text;
  if (length === 0 || length > exactDigitsMax) return -1;
  let value = 0;
  for (let index = 0; index < length; index++) {
    const digit = text.charCodeAt(index) - 48;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

/** Characters of a number's text, at most: far more than any double needs. */
const numberTextLengthMax = 1024;

/** A double from digits, or from the names of the values that have none. Overflow is refused. */
export function parseDouble(text: string): number | undefined {
  switch (text) {
    case 'NaN':
      return NaN;
    case 'Infinity':
    case 'INF':
      return Infinity;
    case '-Infinity':
    case '-INF':
      return -Infinity;
    default:
      break;
  }
  if (text.length > numberTextLengthMax || !numberText.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Bytes from base64 with its padding; undefined for anything else, white space included. */
export function parseBase64(text: string): Bytes | undefined {
  if (text.length % 4 !== 0 || text.includes('-') || text.includes('_')) return undefined;
  let padding = 0;
  if (text.endsWith('==')) padding = 2;
  else if (text.endsWith('=')) padding = 1;
  const bytes = Buffer.from(text, 'base64');
  // The decoder skips what is not base64, so every bad character makes the result too short.
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}

/** Bytes from pairs of hexadecimal digits. */
export function parseHex(text: string): Bytes | undefined {
  if (text.length % 2 !== 0) return undefined;
  for (let index = 0; index < text.length; index++) {
    if (hexDigitValue(text.charCodeAt(index)) < 0) return undefined;
  }
  return Buffer.from(text, 'hex');
}

/**
 * The type that a payload's annotation names. Never the payload's own string: that is compared
 * character by character wherever a type is looked at, a constant by its address.
 */
export function edmTypeOf(name: string): EdmType | undefined {
  switch (name) {
    case 'Edm.String':
      return 'Edm.String';
    case 'Edm.Int32':
      return 'Edm.Int32';
    case 'Edm.Int64':
      return 'Edm.Int64';
    case 'Edm.Double':
      return 'Edm.Double';
    case 'Edm.Boolean':
      return 'Edm.Boolean';
    case 'Edm.DateTime':
      return 'Edm.DateTime';
    case 'Edm.Guid':
      return 'Edm.Guid';
    case 'Edm.Binary':
      return 'Edm.Binary';
    default:
      return undefined;
  }
}

const malformedBody = 'An error occurred while processing this request.';

/** The error of a body or a value in it that cannot be read. */
export function malformedInput(): StorageError {
  return new StorageError('InvalidInput', { message: malformedBody });
}

function defined<Value>(value: Value | undefined): Value {
  if (value === undefined) throw malformedInput();
  return value;
}

function booleanValue(text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw malformedInput();
}

function dateTimeValue(text: string, propertyName: string): bigint {
  const ticks = defined(parseDateTime(text));
  if (ticks >= dateTimeMin && ticks <= dateTimeMax) return ticks;
  throw new StorageError('OutOfRangeInput', {
    message: `The '${propertyName}' parameter of value '${formatUsDateTime(ticks)}' is out of range.`,
  });
}

/**
 * A property's value from a JSON string and its type. Throws `InvalidInput` when the text is not of
 * the type, `OutOfRangeInput` for a date before 1601 or after 9999.
 */
export function valueFromText(type: EdmType, text: string, propertyName: string): EdmValue {
  switch (type) {
    case 'Edm.String':
      return { type, value: text };
    case 'Edm.Int32':
      return { type, value: defined(parseInt32(text)) };
    case 'Edm.Int64':
      return { type, value: defined(parseInt64(text)) };
    case 'Edm.Double':
      return { type, value: defined(parseDouble(text)) };
    case 'Edm.Boolean':
      return { type, value: booleanValue(text) };
    case 'Edm.DateTime':
      return { type, value: dateTimeValue(text, propertyName) };
    case 'Edm.Guid':
      return { type, value: defined(parseGuid(text)) };
    case 'Edm.Binary':
      return { type, value: defined(parseBase64(text)) };
    default:
      return unreachable(type);
  }
}

/**
 * A property's value from a JSON number and its type: a whole number as Int32 or Int64, any number
 * as Double. Throws `InvalidInput` for everything else.
 */
export function valueFromNumber(type: EdmType, text: string): EdmValue {
  switch (type) {
    case 'Edm.Int32':
      return { type, value: defined(parseInt32(text)) };
    case 'Edm.Int64':
      return { type, value: defined(parseInt64(text)) };
    case 'Edm.Double':
      return { type, value: defined(parseDouble(text)) };
    case 'Edm.String':
    case 'Edm.Boolean':
    case 'Edm.DateTime':
    case 'Edm.Guid':
    case 'Edm.Binary':
      throw malformedInput();
    default:
      return unreachable(type);
  }
}
