import { asBuffer, type Bytes } from '../base/bytes.js';
import { invariant } from '../base/invariant.js';
import type { KeyRange } from './store.js';

/**
 * One element of a key. Numbers are integers from 0 to 2^53 - 1. Strings are any sequence of UTF-16
 * code units, lone surrogates and U+0000 included.
 */
export type TupleElement = string | number | Bytes;

// Permanent: these bytes are in every data directory. See docs/internals/key-layout.md.
const bytesTag = 0x01;
const stringTag = 0x02;
const zeroTag = 0x10;
const numberBytesMax = 7;
const terminator = 0x00;
/** Precedes `byte + 1` for the bytes 0x00 and 0x01, so that content never contains a terminator. */
const escape = 0x01;

const surrogate = /[\ud800-\udfff]/;

/** A buffer in which tuples are built before they are copied. Grows to the longest tuple. */
let scratch = Buffer.allocUnsafeSlow(8192);

/**
 * Byte order of encodings is the order of tuples: element by element, bytes before strings before
 * numbers, strings by UTF-16 code unit, and a tuple before every longer one that it begins. The
 * encoding of a tuple is a prefix of the encodings of those, and of nothing else.
 */
export function encodeTuple(elements: readonly TupleElement[]): Bytes {
  let length = 0;
  for (const element of elements) length = writeElement(element, length);
  return copyOut(length);
}

/** Appends a string element to an encoded tuple; for hot paths that keep the prefix. */
export function appendString(prefix: Bytes, text: string): Bytes {
  const start = prefix.length;
  reserve(0, start + 3 * text.length + 2);
  scratch.set(prefix);
  return copyOut(writeString(text, start));
}

/** Appends a number element to an encoded tuple. */
export function appendNumber(prefix: Bytes, value: number): Bytes {
  reserve(0, prefix.length);
  scratch.set(prefix);
  return copyOut(writeNumber(value, prefix.length));
}

/** Appends elements to an encoded tuple. */
export function appendTuple(prefix: Bytes, elements: readonly TupleElement[]): Bytes {
  reserve(0, prefix.length);
  scratch.set(prefix);
  let length = prefix.length;
  for (const element of elements) length = writeElement(element, length);
  return copyOut(length);
}

/**
 * The elements from an element boundary to the end of the key, or the first `elementsMax` of them.
 */
export function decodeTuple(bytes: Bytes, offset = 0, elementsMax = Infinity): TupleElement[] {
  const key = asBuffer(bytes);
  const elements: TupleElement[] = [];
  for (let at = offset; at < key.length && elements.length < elementsMax;) {
    const end = elementEnd(key, at);
    elements.push(readElement(key, at, end));
    at = end;
  }
  return elements;
}

/** The string element that begins at `offset`. */
export function stringAt(bytes: Bytes, offset: number): string {
  const key = asBuffer(bytes);
  invariant(key[offset] === stringTag, 'no string begins at this place of the key');
  const start = offset + 1;
  const end = asciiEnd(key, start);
  if (key[end] === terminator) return key.toString('latin1', start, end);
  return readString(key, start, elementEnd(key, offset) - 1);
}

/** The number element that begins at `offset`. */
export function numberAt(bytes: Bytes, offset: number): number {
  const tag = bytes[offset] ?? 0;
  invariant(tag >= zeroTag && tag <= zeroTag + numberBytesMax, 'no number begins at this place');
  let value = 0;
  for (let at = offset + 1; at <= offset + tag - zeroTag; at += 1) {
    value = value * 256 + (bytes[at] ?? 0);
  }
  return value;
}

/** Where the element that begins at `offset` ends, found without decoding it. */
export function elementEnd(bytes: Bytes, offset: number): number {
  const tag = bytes[offset];
  invariant(tag !== undefined, 'the key ends where an element was expected');
  if (tag >= zeroTag && tag <= zeroTag + numberBytesMax) {
    const end = offset + 1 + tag - zeroTag;
    invariant(end <= bytes.length, 'the key ends inside a number');
    return end;
  }
  invariant(tag === bytesTag || tag === stringTag, `unknown tag ${tag} in a key`);
  const end = bytes.indexOf(terminator, offset + 1);
  invariant(end !== -1, 'the key ends inside a string');
  return end + 1;
}

/** Every key that begins with these bytes. */
export function prefixRange(prefix: Bytes): KeyRange {
  let last = prefix.length - 1;
  while (last >= 0 && prefix[last] === 0xff) last -= 1;
  if (last < 0) return { start: prefix };
  const end = Buffer.from(prefix.subarray(0, last + 1));
  end[last] = (end[last] ?? 0) + 1;
  return { start: prefix, end };
}

/** Every key whose tuple begins with these elements, the tuple of just these included. */
export function tupleRange(elements: readonly TupleElement[]): KeyRange {
  return prefixRange(encodeTuple(elements));
}

/** Every key that begins with these bytes, and then a string that begins with this text. */
export function stringRange(prefix: Bytes, beginning: string): KeyRange {
  if (beginning === '') return prefixRange(prefix);
  // The end of a string is one byte.
  return prefixRange(appendString(prefix, beginning).subarray(0, -1));
}

/** The least byte string greater than the key. As a range bound it may exceed the key limit. */
export function keyAfter(key: Bytes): Bytes {
  const after = Buffer.allocUnsafe(key.length + 1);
  after.set(key);
  after[key.length] = 0;
  return after;
}

function writeElement(element: TupleElement, at: number): number {
  if (typeof element === 'string') {
    reserve(at, 3 * element.length + 2);
    return writeString(element, at);
  }
  if (typeof element === 'number') return writeNumber(element, at);
  reserve(at, 2 * element.length + 2);
  scratch[at] = bytesTag;
  scratch.set(element, at + 1);
  return terminate(at + 1, at + 1 + element.length);
}

/** The caller has reserved three bytes per code unit. */
function writeString(text: string, at: number): number {
  scratch[at] = stringTag;
  const end = at + 1 + scratch.write(text, at + 1, 'utf8');
  if (end - at - 1 !== text.length && surrogate.test(text)) {
    return terminate(at + 1, writeCodeUnits(text, at + 1));
  }
  if (text.includes('\0') || text.includes('\x01')) return terminate(at + 1, end);
  scratch[end] = terminator;
  return end + 1;
}

/** UTF-8 of each code unit by itself: a surrogate takes three bytes (as in CESU-8 and WTF-8). */
function writeCodeUnits(text: string, start: number): number {
  let at = start;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) {
      scratch[at++] = unit;
    } else if (unit < 0x800) {
      scratch[at++] = 0xc0 | (unit >> 6);
      scratch[at++] = 0x80 | (unit & 0x3f);
    } else {
      scratch[at++] = 0xe0 | (unit >> 12);
      scratch[at++] = 0x80 | ((unit >> 6) & 0x3f);
      scratch[at++] = 0x80 | (unit & 0x3f);
    }
  }
  return at;
}

/**
 * Escapes the bytes written and adds the terminator. Works backwards, so that each byte moves once.
 */
function terminate(start: number, writtenEnd: number): number {
  let escapes = 0;
  for (let at = start; at < writtenEnd; at += 1) if ((scratch[at] ?? 0) <= escape) escapes += 1;
  const end = writtenEnd + escapes;
  reserve(writtenEnd, escapes + 1);
  let to = end;
  for (let from = writtenEnd - 1; to > from + 1; from -= 1) {
    const byte = scratch[from] ?? 0;
    scratch[--to] = byte <= escape ? byte + 1 : byte;
    if (byte <= escape) scratch[--to] = escape;
  }
  scratch[end] = terminator;
  return end + 1;
}

function writeNumber(value: number, at: number): number {
  invariant(Number.isSafeInteger(value) && value >= 0, 'a number in a key is a safe integer >= 0');
  reserve(at, numberBytesMax + 1);
  let count = 0;
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) count += 1;
  scratch[at] = zeroTag + count;
  let rest = value;
  for (let place = at + count; place > at; place -= 1) {
    scratch[place] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return at + count + 1;
}

function readElement(key: Buffer, offset: number, end: number): TupleElement {
  if (key[offset] === stringTag) return readString(key, offset + 1, end - 1);
  if (key[offset] === bytesTag) return unescape(key.subarray(offset + 1, end - 1));
  let value = 0;
  for (let at = offset + 1; at < end; at += 1) value = value * 256 + (key[at] ?? 0);
  return value;
}

/**
 * The end of the plain ASCII run from an offset. Most strings are short ASCII, and one loop is
 * faster than several native searches.
 */
function asciiEnd(key: Buffer, start: number): number {
  let end = start;
  for (let byte = key[end] ?? 0; byte > escape && byte < 0x80; byte = key[end] ?? 0) end += 1;
  return end;
}

/** `start` is behind the tag, `end` is the terminator. */
function readString(key: Buffer, start: number, end: number): string {
  if (asciiEnd(key, start) >= end) return key.toString('latin1', start, end);
  const written = key.subarray(start, end);
  const content = written.includes(escape) ? unescape(written) : written;
  // Surrogates have the lead byte 0xED; other characters with that byte are rare.
  return content.includes(0xed) ? readCodeUnits(content) : content.toString('utf8');
}

function readCodeUnits(raw: Buffer): string {
  const units = new Uint16Array(raw.length);
  let count = 0;
  for (let at = 0; at < raw.length; count += 1) {
    const lead = raw[at] ?? 0;
    const second = (raw[at + 1] ?? 0) & 0x3f;
    if (lead < 0x80) {
      units[count] = lead;
      at += 1;
    } else if (lead < 0xe0) {
      units[count] = ((lead & 0x1f) << 6) | second;
      at += 2;
    } else {
      units[count] = ((lead & 0x0f) << 12) | (second << 6) | ((raw[at + 2] ?? 0) & 0x3f);
      at += 3;
    }
  }
  return Buffer.from(units.buffer, 0, count * 2).toString('utf16le');
}

function unescape(written: Buffer): Buffer {
  const content = Buffer.allocUnsafe(written.length);
  let length = 0;
  for (let from = 0; from < written.length; from += 1) {
    let byte = written[from] ?? 0;
    if (byte === escape) {
      from += 1;
      byte = (written[from] ?? 0) - 1;
      invariant(byte === 0 || byte === escape, 'an unknown escape in a key');
    }
    content[length++] = byte;
  }
  return content.subarray(0, length);
}

function reserve(used: number, more: number): void {
  if (used + more <= scratch.length) return;
  const grown = Buffer.allocUnsafeSlow(2 * (used + more));
  grown.set(scratch.subarray(0, used));
  scratch = grown;
}

function copyOut(length: number): Bytes {
  const key = Buffer.allocUnsafe(length);
  scratch.copy(key, 0, 0, length);
  return key;
}
