import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { StorageError } from '../../model/errors/storage-error.js';
import {
  dateTimeMax,
  dateTimeMin,
  formatUsDateTime,
  parseDateTime,
} from '../../model/edm/date-time.js';
import { hexDigitValue, parseGuid } from '../../model/edm/guid.js';
import { decimalLengthMax } from '../../model/bag/canonical-text.js';
import { base64Length } from '../../model/bag/json-bytes.js';
import { binaryBytesMax } from '../../model/edm/limits.js';
import type { EdmType, EdmValue } from '../../model/edm/value.js';

/** Values from their texts, with the range of each type (table-service §2.5 and §5.2). */

export const int32Min = -2_147_483_648;
export const int32Max = 2_147_483_647;

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

/** Numbers of up to this many digits always fit into an Int64. */
const int64DigitsSafe = 18;
const int64Positive = '9223372036854775807';
const int64Negative = '9223372036854775808';

/**
 * The canonical text of an integer: no plus sign, no leading zeros; undefined when out of range.
 */
export function parseInt64Text(text: string): string | undefined {
  if (isShortWhole(text)) return text;
  if (!integerText.test(text)) return undefined;
  const negative = text.charCodeAt(0) === 0x2d;
  let start = negative || text.charCodeAt(0) === 0x2b ? 1 : 0;
  while (start < text.length - 1 && text.charCodeAt(start) === 0x30) start++;
  const digits = text.slice(start);
  const limit = negative ? int64Negative : int64Positive;
  if (digits.length > limit.length) return undefined;
  if (digits.length === limit.length && digits > limit) return undefined;
  return negative && digits !== '0' ? `-${digits}` : digits;
}

/** True for digits without a leading zero that are few enough for any Int64; the common case. */
function isShortWhole(text: string): boolean {
  const { length } = text;
  if (length > int64DigitsSafe || length === 0 || text.charCodeAt(0) === 0x30) return false;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

export function parseInt64(text: string): bigint | undefined {
  const canonical = parseInt64Text(text);
  return canonical === undefined ? undefined : BigInt(canonical);
}

/** The longest text of a number: far more than any double needs. */
const numberTextLengthMax = 1024;

/** A double from digits, or from `NaN` and the infinities. Overflow is refused. */
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
  // The decoder skips invalid characters, so each makes the result too short.
  return bytes.length === (text.length / 4) * 3 - padding ? bytes : undefined;
}

const base64Text = /^[A-Za-z0-9+/]*={0,2}$/;
/** The last digits before one and before two padding characters, whose unused bits are zero. */
const lastBeforeOne = 'AEIMQUYcgkosw048';
const lastBeforeTwo = 'AQgw';

/** The length of the largest binary value: bounds the text that the pattern is applied to. */
const base64LengthMax = base64Length(binaryBytesMax);

/**
 * The byte count of a canonical base64 text; -1 for any other text, and for one that is too long
 * for a property.
 */
export function canonicalBase64Bytes(text: string): number {
  const { length } = text;
  if (length % 4 !== 0 || length > base64LengthMax || !base64Text.test(text)) return -1;
  const bytes = (length / 4) * 3;
  if (length === 0 || text.charCodeAt(length - 1) !== 0x3d) return bytes;
  if (text.charCodeAt(length - 2) !== 0x3d) {
    return lastBeforeOne.includes(text.charAt(length - 2)) ? bytes - 1 : -1;
  }
  return lastBeforeTwo.includes(text.charAt(length - 3)) ? bytes - 2 : -1;
}

/**
 * True when a JSON number is a short decimal in canonical form: no rounding, no exponent, no
 * trailing zero.
 */
export function isCanonicalDecimal(text: string): boolean {
  const { length } = text;
  if (length > decimalLengthMax) return false;
  const start = text.charCodeAt(0) === 0x2d ? 1 : 0;
  const point = text.indexOf('.');
  if (point === -1) return false;
  for (let index = point + 1; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  const first = text.charCodeAt(point + 1);
  if (length === point + 2) return true;
  const isSmall = text.charCodeAt(start) === 0x30 && first === 0x30;
  return !isSmall && text.charCodeAt(length - 1) !== 0x30;
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
 * The type that an annotation names. Returns a constant instead of the payload's string: constants
 * are compared by address, other strings by character.
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

/** The error of a malformed body or value. */
export function malformedInput(): StorageError {
  return new StorageError('InvalidInput', { message: malformedBody });
}

function defined<Value>(value: Value | undefined): Value {
  if (value === undefined) throw malformedInput();
  return value;
}

/** In any case: clients write `False` as their languages do. */
function booleanValue(text: string): boolean {
  switch (text.toLowerCase()) {
    case 'true':
      return true;
    case 'false':
      return false;
    default:
      throw malformedInput();
  }
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
