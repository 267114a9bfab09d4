import type { Bytes } from '../../base/bytes.js';
import { isPlainText } from './text.js';

/**
 * Writers of JSON into a buffer. Each writes at an offset and returns the end; the caller has
 * reserved the space of the longest result.
 */

/** Bytes that one UTF-16 code unit takes in a JSON string, at most: `\u001f`. */
export const jsonBytesPerUnitMax = 6;

/** Up to this length a loop is faster than a call into native code. */
const shortLength = 24;
/** The same limit for copies, which need a view of the source first. */
const shortCopyLength = 48;

/** Copies a range of bytes. */
export function writeBytes(
  target: Buffer,
  at: number,
  source: Bytes,
  start: number,
  end: number,
): number {
  const length = end - start;
  if (length <= shortCopyLength) return copyShort(target, at, source, start, end);
  target.set(source.subarray(start, end), at);
  return at + length;
}

/** Copies a short range of bytes. */
function copyShort(target: Buffer, at: number, source: Bytes, start: number, end: number): number {
  const length = end - start;
  for (let index = 0; index < length; index++) target[at + index] = source[start + index] ?? 0;
  return at + length;
}

/** Writes a text of ASCII characters as they are. */
export function writeAscii(target: Buffer, at: number, text: string): number {
  const length = text.length;
  if (length > shortLength) return at + target.write(text, at, 'latin1');
  for (let index = 0; index < length; index++) target[at + index] = text.charCodeAt(index);
  return at + length;
}

/** Writes the content of a JSON string, without its quotes. */
export function writeJsonText(target: Buffer, at: number, text: string): number {
  const length = text.length;
  if (length > shortLength) return writeEscaped(target, at, text);
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code >= 0x80 || code === 0x22 || code === 0x5c) {
      return writeEscaped(target, at, text);
    }
    target[at + index] = code;
  }
  return at + length;
}

function writeEscaped(target: Buffer, at: number, text: string): number {
  return at + target.write(isPlainText(text) ? text : jsonText(text), at, 'utf8');
}

/** The content of a JSON string, without its quotes; lone surrogates are escaped. */
export function jsonText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** Writes an Int32 in decimal digits. */
export function writeInt32(target: Buffer, at: number, value: number): number {
  let rest = value;
  let start = at;
  if (value < 0) {
    target[start++] = 0x2d;
    rest = -value;
  }
  let end = start + 1;
  for (let limit = 10; rest >= limit; limit *= 10) end++;
  for (let index = end - 1; index >= start; index--) {
    const next = Math.floor(rest / 10);
    target[index] = 48 + rest - next * 10;
    rest = next;
  }
  return end;
}

/** A finite double as a JSON number that always has a fraction or an exponent. */
export function doubleText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return Number.isInteger(value) && !text.includes('e') ? `${text}.0` : text;
}

/** The length of the base64 of some bytes, its padding included. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
