import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';

/**
 * The encoded properties of an entity. This is a storage format: docs/internals/value-layout.md is
 * its grammar. All numbers are big endian; offsets count from the first byte of the bag.
 *
 * bag      = u8 format, u16 count, header*, u32 end, fragment*
 * header   = u32 fragment offset, u8 tag, u16 nameBytes, u16 annotationBytes
 * fragment = "," annotation? '"' name '":' value
 *
 * The fragments are the JSON of the properties with minimal metadata. A property is addressed by
 * the offset of its header: `for (let at = firstProperty; at < headersEnd(bag); at +=
 * propertyHeaderBytes)`.
 *
 * The bytes may be a view of a longer buffer that is overwritten later: readers must not use the
 * length of the bytes and must not keep them.
 */

/** The type of a stored value. Permanent: a number never gets another meaning. */
export const propertyTags = {
  string: 1,
  int32: 2,
  int64: 3,
  double: 4,
  boolean: 5,
  dateTime: 6,
  guid: 7,
  binary: 8,
} as const;

export const bagFormat = 1;

/** Bytes from one header to the next. */
export const propertyHeaderBytes = 9;

/** Offset of the first property's header. */
export const firstProperty = 3;

const tagOffset = 4;
const nameBytesOffset = 5;
const annotationBytesOffset = 7;

export function bagCount(bag: Bytes): number {
  invariant(bag[0] === bagFormat, 'a bag of a known format');
  return readU16(bag, 1);
}

/** Offset after the last header. */
export function headersEnd(bag: Bytes): number {
  return firstProperty + bagCount(bag) * propertyHeaderBytes;
}

/** Offset of the first fragment. */
export function textStart(bag: Bytes): number {
  return headersEnd(bag) + 4;
}

/** Offset after the last fragment, which is the length of the bag. */
export function textEnd(bag: Bytes): number {
  return readU32(bag, headersEnd(bag));
}

/** One of `propertyTags`. */
export function propertyTag(bag: Bytes, at: number): number {
  return bag[at + tagOffset] ?? 0;
}

/** Offset of a property's comma, after which its annotation begins, if it has one. */
export function fragmentStart(bag: Bytes, at: number): number {
  return readU32(bag, at);
}

/** Offset after a property's fragment and value. */
export function fragmentEnd(bag: Bytes, at: number): number {
  return readU32(bag, at + propertyHeaderBytes);
}

/** Bytes of `"name@odata.type":"…",`; 0 for a type that JSON shows by itself. */
export function annotationLength(bag: Bytes, at: number): number {
  return readU16(bag, at + annotationBytesOffset);
}

export function nameLength(bag: Bytes, at: number): number {
  return readU16(bag, at + nameBytesOffset);
}

/** Offset of a property's name, which is UTF-8. */
export function nameStart(bag: Bytes, at: number): number {
  return readU32(bag, at) + readU16(bag, at + annotationBytesOffset) + 2;
}

/** Offset of a property's value, which is JSON; of the quote when it is a JSON string. */
export function valueStart(bag: Bytes, at: number): number {
  return nameStart(bag, at) + nameLength(bag, at) + 2;
}

/** Whether a property has the name whose UTF-8 bytes are given. */
export function hasName(bag: Bytes, at: number, nameBytes: Bytes): boolean {
  const length = nameBytes.length;
  if (nameLength(bag, at) !== length) return false;
  const start = nameStart(bag, at);
  for (let index = 0; index < length; index++) {
    if (bag[start + index] !== nameBytes[index]) return false;
  }
  return true;
}

/** Offset of the header of the property with this name; -1 when the bag has none. */
export function findProperty(bag: Bytes, nameBytes: Bytes): number {
  const end = headersEnd(bag);
  for (let at = firstProperty; at < end; at += propertyHeaderBytes) {
    if (hasName(bag, at, nameBytes)) return at;
  }
  return -1;
}

/** Writes a property's header. `at` is its offset, `fragment` that of its fragment. */
export function writeHeader(
  target: Buffer,
  at: number,
  fragment: number,
  tag: number,
  nameBytes: number,
  annotationBytes: number,
): void {
  writeU32(target, at, fragment);
  target[at + tagOffset] = tag;
  writeU16(target, at + nameBytesOffset, nameBytes);
  writeU16(target, at + annotationBytesOffset, annotationBytes);
}

export function writeU16(target: Buffer, at: number, value: number): void {
  target[at] = value >>> 8;
  target[at + 1] = value;
}

export function writeU32(target: Buffer, at: number, value: number): void {
  target[at] = value >>> 24;
  target[at + 1] = value >>> 16;
  target[at + 2] = value >>> 8;
  target[at + 3] = value;
}

function readU16(bytes: Bytes, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

function readU32(bytes: Bytes, at: number): number {
  const high = ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16);
  return (high | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)) >>> 0;
}
