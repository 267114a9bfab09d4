import type { Bytes } from '../../base/bytes.js';
import { invariant, InvariantError, unreachable } from '../../base/invariant.js';
import { guidText, writeGuid } from './guid.js';
import { asBuffer, isPlainText, readText, textBytesPerUnitMax, writeText } from './text.js';
import type { EdmValue, Property } from './value.js';

/**
 * The encoded properties of an entity. This is a storage format: docs/internals/value-layout.md is
 * its grammar. All numbers are big endian.
 *
 *     bag      = u8 format, u16 count, property*
 *     property = u8 tag, u16 nameBytes, u32 valueBytes, name, value
 *
 * A property is addressed by the offset of its header, so that readers walk a bag without making
 * anything: `for (let at = firstProperty; at < bag.length; at = nextProperty(bag, at))`.
 */

/** The type of a stored value. Permanent: a number is never given another meaning. */
export const propertyTags = {
  /** Text whose bytes may stand in a JSON string as they are. */
  plainString: 1,
  /** Text that holds a quote, a backslash, a control character or a lone surrogate. */
  string: 2,
  int32: 3,
  int64: 4,
  double: 5,
  boolean: 6,
  dateTime: 7,
  guid: 8,
  binary: 9,
} as const;

const bagFormat = 1;
const propertyHeaderBytes = 7;

/** Offset of the first property's header; the bag's length when there is none. */
export const firstProperty = 3;

/** Offset of the header behind a property; the bag's length after the last. */
export function nextProperty(bag: Bytes, at: number): number {
  return valueEnd(bag, at);
}

export function bagCount(bag: Bytes): number {
  invariant(bag[0] === bagFormat, 'a bag of a known format');
  return readU16(bag, 1);
}

/** One of `propertyTags`. */
export function propertyTag(bag: Bytes, at: number): number {
  return bag[at] ?? 0;
}

/** Offset of a property's name, which is UTF-8 and ends at `valueStart`. */
export function nameStart(at: number): number {
  return at + propertyHeaderBytes;
}

export function nameLength(bag: Bytes, at: number): number {
  return readU16(bag, at + 1);
}

export function valueStart(bag: Bytes, at: number): number {
  return at + propertyHeaderBytes + readU16(bag, at + 1);
}

export function valueEnd(bag: Bytes, at: number): number {
  return at + propertyHeaderBytes + readU16(bag, at + 1) + readU32(bag, at + 3);
}

/** Whether a property has the name whose UTF-8 bytes are given. */
export function hasName(bag: Bytes, at: number, nameBytes: Bytes): boolean {
  const length = nameBytes.length;
  if (readU16(bag, at + 1) !== length) return false;
  const start = at + propertyHeaderBytes;
  for (let index = 0; index < length; index++) {
    if (bag[start + index] !== nameBytes[index]) return false;
  }
  return true;
}

/** Offset of the header of the property with this name; -1 when the bag has none. */
export function findProperty(bag: Bytes, nameBytes: Bytes): number {
  for (let at = firstProperty; at < bag.length; at = nextProperty(bag, at)) {
    if (hasName(bag, at, nameBytes)) return at;
  }
  return -1;
}

export function propertyName(bag: Bytes, at: number): string {
  return asBuffer(bag).toString('utf8', nameStart(at), valueStart(bag, at));
}

export function readU16(bytes: Bytes, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

export function readU32(bytes: Bytes, at: number): number {
  return readI32(bytes, at) >>> 0;
}

/** The value of an Int32 whose bytes begin at `at`. */
export function readI32(bytes: Bytes, at: number): number {
  return (
    ((bytes[at] ?? 0) << 24) |
    ((bytes[at + 1] ?? 0) << 16) |
    ((bytes[at + 2] ?? 0) << 8) |
    (bytes[at + 3] ?? 0)
  );
}

/** The value of an Int64, or the ticks of a DateTime, whose bytes begin at `at`. */
export function readI64(bytes: Bytes, at: number): bigint {
  return (BigInt(readI32(bytes, at)) << 32n) | BigInt(readU32(bytes, at + 4));
}

const wordView = new DataView(new ArrayBuffer(8));

/** The value of a Double whose bytes begin at `at`. */
export function readDouble(bytes: Bytes, at: number): number {
  wordView.setInt32(0, readI32(bytes, at));
  wordView.setInt32(4, readI32(bytes, at + 4));
  return wordView.getFloat64(0);
}

/** The value of the property whose header is at `at`. A binary value shares the bag's memory. */
export function readValue(bag: Bytes, at: number): EdmValue {
  const start = valueStart(bag, at);
  const end = valueEnd(bag, at);
  const tag = propertyTag(bag, at);
  switch (tag) {
    case propertyTags.plainString:
    case propertyTags.string:
      return { type: 'Edm.String', value: readText(bag, start, end) };
    case propertyTags.int32:
      return { type: 'Edm.Int32', value: readI32(bag, start) };
    case propertyTags.int64:
      return { type: 'Edm.Int64', value: readI64(bag, start) };
    case propertyTags.double:
      return { type: 'Edm.Double', value: readDouble(bag, start) };
    case propertyTags.boolean:
      return { type: 'Edm.Boolean', value: bag[start] === 1 };
    case propertyTags.dateTime:
      return { type: 'Edm.DateTime', value: readI64(bag, start) };
    case propertyTags.guid:
      return { type: 'Edm.Guid', value: guidText(bag, start) };
    case propertyTags.binary:
      return { type: 'Edm.Binary', value: bag.subarray(start, end) };
    default:
      throw new InvariantError(`a known property tag, not ${tag}`);
  }
}

export function decodeBag(bag: Bytes): Property[] {
  const count = bagCount(bag);
  const properties: Property[] = [];
  for (let at = firstProperty; at < bag.length; at = nextProperty(bag, at)) {
    properties.push({ name: propertyName(bag, at), value: readValue(bag, at) });
  }
  invariant(properties.length === count, 'a bag holds as many properties as it says');
  return properties;
}

/** Where bags are put together before their length is known. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

/** The bag of some properties, in memory of its own. Names differ and follow the name rules. */
export function encodeBag(properties: readonly Property[]): Bytes {
  const bytesMax = bagBytesMax(properties);
  const target = bytesMax <= scratch.length ? scratch : Buffer.allocUnsafeSlow(bytesMax);
  target[0] = bagFormat;
  writeU16(target, 1, properties.length);
  let end = firstProperty;
  for (const property of properties) end = writeProperty(target, end, property);
  return Buffer.from(target.subarray(0, end));
}

function bagBytesMax(properties: readonly Property[]): number {
  let bytes = firstProperty;
  for (const { name, value } of properties) {
    bytes += propertyHeaderBytes + name.length * textBytesPerUnitMax + fixedValueBytesMax;
    if (value.type === 'Edm.String') bytes += value.value.length * textBytesPerUnitMax;
    else if (value.type === 'Edm.Binary') bytes += value.value.length;
  }
  return bytes;
}

const fixedValueBytesMax = 16;

function writeU16(target: Buffer, at: number, value: number): void {
  target[at] = value >>> 8;
  target[at + 1] = value;
}

function writeI32(target: Buffer, at: number, value: number): number {
  target[at] = value >> 24;
  target[at + 1] = value >> 16;
  target[at + 2] = value >> 8;
  target[at + 3] = value;
  return at + 4;
}

function writeProperty(target: Buffer, at: number, property: Property): number {
  const start = writeName(target, nameStart(at), property.name);
  const { value } = property;
  let end: number;
  if (value.type === 'Edm.String') {
    end = writeStringValue(target, start, value.value, at);
  } else {
    target[at] = tagOf(value);
    end = writeFixedValue(target, start, value);
  }
  writeU16(target, at + 1, start - nameStart(at));
  writeI32(target, at + 3, end - start);
  return end;
}

/** Up to this length a loop beats a call into native code. */
const shortTextLength = 24;

function writeName(target: Buffer, at: number, name: string): number {
  const length = name.length;
  if (length > shortTextLength) return at + target.write(name, at, 'utf8');
  for (let index = 0; index < length; index++) {
    const code = name.charCodeAt(index);
    if (code >= 0x80) return at + target.write(name, at, 'utf8');
    target[at + index] = code;
  }
  return at + length;
}

/** Writes a string's bytes and, into the header at `header`, its tag; returns the end. */
function writeStringValue(target: Buffer, at: number, text: string, header: number): number {
  const length = text.length;
  if (length <= shortTextLength) {
    let index = 0;
    let plain = true;
    for (; index < length; index++) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) break;
      if (code < 0x20 || code === 0x22 || code === 0x5c) plain = false;
      target[at + index] = code;
    }
    if (index === length) {
      target[header] = plain ? propertyTags.plainString : propertyTags.string;
      return at + length;
    }
  }
  const plain = isPlainText(text);
  target[header] = plain ? propertyTags.plainString : propertyTags.string;
  return plain ? at + target.write(text, at, 'utf8') : writeText(target, at, text);
}

type FixedValue = Exclude<EdmValue, { type: 'Edm.String' }>;

function tagOf(value: FixedValue): number {
  switch (value.type) {
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
      return unreachable(value);
  }
}

function writeFixedValue(target: Buffer, at: number, value: FixedValue): number {
  switch (value.type) {
    case 'Edm.Int32':
      return writeI32(target, at, value.value);
    case 'Edm.Int64':
    case 'Edm.DateTime':
      return target.writeBigInt64BE(value.value, at);
    case 'Edm.Double':
      return target.writeDoubleBE(value.value, at);
    case 'Edm.Boolean':
      target[at] = value.value ? 1 : 0;
      return at + 1;
    case 'Edm.Guid':
      return writeGuid(target, at, value.value);
    case 'Edm.Binary':
      target.set(value.value, at);
      return at + value.value.length;
    default:
      return unreachable(value);
  }
}
