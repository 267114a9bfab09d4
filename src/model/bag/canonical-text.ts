import type { Bytes } from '../../base/bytes.js';
import { isDate } from '../edm/date-time.js';

/**
 * Finds values that stand in bytes just as bags spell them (docs/internals/value-layout.md). Each
 * function takes the offset of a value's first character, behind its quote if it has one, and
 * returns the offset behind the last; -1 for what is no value of the type or has another text in
 * bags. The caller checks the text after the value. Bytes after the end count as zeros.
 */

const minus = 0x2d;
const zero = 0x30;
const colon = 0x3a;

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= 0x39;
}

/** The end of a run of digits. */
function digitsEnd(bytes: Bytes, start: number): number {
  let at = start;
  while (isDigit(bytes[at] ?? 0)) at += 1;
  return at;
}

/** The end of digits without leading zeros. */
function wholeEnd(bytes: Bytes, start: number): number {
  const end = digitsEnd(bytes, start);
  if (end === start) return -1;
  return bytes[start] === zero && end > start + 1 ? -1 : end;
}

const int32Digits = 10;
const int32Max = 2_147_483_647;

/** An Edm.Int32. */
export function int32End(bytes: Bytes, at: number): number {
  const negative = bytes[at] === minus;
  const start = negative ? at + 1 : at;
  const end = wholeEnd(bytes, start);
  if (end === -1 || end - start > int32Digits) return -1;
  let value = 0;
  for (let index = start; index < end; index += 1) value = value * 10 + (bytes[index] ?? 0) - zero;
  if (negative) return value > 0 && value <= int32Max + 1 ? end : -1;
  return value <= int32Max ? end : -1;
}

/** At most 14 digits, which a double holds exactly, a point and a minus. */
export const decimalLengthMax = 16;

/** A short decimal that is the shortest text of an Edm.Double; `isCanonicalDecimal` of bytes. */
export function decimalEnd(bytes: Bytes, at: number): number {
  const start = bytes[at] === minus ? at + 1 : at;
  const point = wholeEnd(bytes, start);
  if (point === -1 || bytes[point] !== 0x2e) return -1;
  const end = digitsEnd(bytes, point + 1);
  const digits = end - point - 1;
  if (digits === 0 || end - at > decimalLengthMax) return -1;
  if (digits === 1) return end;
  const isSmall = bytes[start] === zero && bytes[point + 1] === zero;
  return isSmall || bytes[end - 1] === zero ? -1 : end;
}

const int64Digits = 19;
const int64Positive = Buffer.from('9223372036854775807', 'latin1');
const int64Negative = Buffer.from('9223372036854775808', 'latin1');

/** The content of an Edm.Int64. */
export function int64End(bytes: Bytes, at: number): number {
  const negative = bytes[at] === minus;
  const start = negative ? at + 1 : at;
  const end = wholeEnd(bytes, start);
  if (end === -1 || end - start > int64Digits) return -1;
  if (negative && bytes[start] === zero) return -1;
  if (end - start < int64Digits) return end;
  return isAtMost(bytes, start, negative ? int64Negative : int64Positive) ? end : -1;
}

/** Compares digits with those of a limit, of which there are as many. */
function isAtMost(bytes: Bytes, start: number, limit: Bytes): boolean {
  for (let index = 0; index < limit.length; index += 1) {
    const difference = (bytes[start + index] ?? 0) - (limit[index] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return true;
}

const guidLength = 36;

/** 1 at each position of a guid that has a dash. */
const isDash = Uint8Array.from({ length: guidLength }, (_, index) =>
  [8, 13, 18, 23].includes(index) ? 1 : 0,
);

/** The content of an Edm.Guid. */
export function guidEnd(bytes: Bytes, at: number): number {
  for (let index = 0; index < guidLength; index += 1) {
    const byte = bytes[at + index] ?? 0;
    const fits = isDash[index] === 1 ? byte === minus : isLowerHexDigit(byte);
    if (!fits) return -1;
  }
  return at + guidLength;
}

function isLowerHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x61 && byte <= 0x66);
}

const base64Digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const noDigit = 64;
const padding = 0x3d;

/** The value of each base64 digit by its character; `noDigit` for any other character. */
const base64Values = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = base64Digits.indexOf(String.fromCharCode(code));
  return value === -1 ? noDigit : value;
});

/** The content of an Edm.Binary of any length. */
export function base64End(bytes: Bytes, start: number): number {
  let at = start;
  let last = 0;
  for (;;) {
    const value = base64Values[bytes[at] ?? 0] ?? noDigit;
    if (value === noDigit) break;
    last = value;
    at += 1;
  }
  const rest = (at - start) % 4;
  // The unused bits of the last digit are zeros.
  if (rest === 1 || (rest === 2 && last % 16 !== 0) || (rest === 3 && last % 4 !== 0)) return -1;
  const end = rest === 0 ? at : at + 4 - rest;
  for (; at < end; at += 1) if (bytes[at] !== padding) return -1;
  return end;
}

/** The bytes that the content of an Edm.Binary stands for. */
export function base64Bytes(bytes: Bytes, start: number, end: number): number {
  const all = ((end - start) / 4) * 3;
  if (end === start || bytes[end - 1] !== padding) return all;
  return bytes[end - 2] === padding ? all - 2 : all - 1;
}

const yearMin = 1601;
const secondsLength = 19;
const longestFraction = 7;

/** The content of an Edm.DateTime; its fraction may end in zeros, which bags leave out. */
export function dateTimeEnd(bytes: Bytes, start: number): number {
  const isDay =
    bytes[start + 4] === minus &&
    bytes[start + 7] === minus &&
    isDate(
      numberAt(bytes, start, 4),
      numberAt(bytes, start + 5, 2),
      numberAt(bytes, start + 8, 2),
    ) &&
    numberAt(bytes, start, 4) >= yearMin;
  if (!isDay || bytes[start + 10] !== 0x54 || !isTimeOfDay(bytes, start + 11)) return -1;
  let at = start + secondsLength;
  if (bytes[at] === 0x2e) {
    at = digitsEnd(bytes, at + 1);
    const fractionDigits = at - start - secondsLength - 1;
    // Without digits the character before the end is the point.
    if (fractionDigits > longestFraction || !isDigit(bytes[at - 1] ?? 0)) return -1;
  }
  return bytes[at] === 0x5a ? at + 1 : -1;
}

/** The characters before the end of such a date, the `Z` aside, that bags leave out. */
export function needlessFraction(bytes: Bytes, start: number, end: number): number {
  const fraction = start + secondsLength + 1;
  const last = end - 2;
  let at = last;
  while (at >= fraction && bytes[at] === zero) at -= 1;
  // Without digits the point goes too.
  return at < fraction ? Math.max(last - fraction + 2, 0) : last - at;
}

function isTimeOfDay(bytes: Bytes, at: number): boolean {
  const hour = numberAt(bytes, at, 2);
  const minute = numberAt(bytes, at + 3, 2);
  const second = numberAt(bytes, at + 6, 2);
  if (bytes[at + 2] !== colon || bytes[at + 5] !== colon) return false;
  return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
}

/** The value of `count` digits; -1 when there are others. */
function numberAt(bytes: Bytes, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index += 1) {
    const digit = (bytes[index] ?? 0) - zero;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}
