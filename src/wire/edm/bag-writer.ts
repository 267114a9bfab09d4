import type { Bytes } from '../../base/bytes.js';
import { InvariantError, unreachable } from '../../base/invariant.js';
import {
  bagFormat,
  firstProperty,
  propertyHeaderBytes,
  propertyTags,
  writeHeader,
  writeU16,
  writeU32,
} from './bag-layout.js';
import { instantBytesMax, writeTicks } from './date-time.js';
import {
  base64Length,
  doubleText,
  jsonBytesPerUnitMax,
  writeAscii,
  writeInt32,
  writeJsonText,
} from './json-bytes.js';
import { asBuffer, textBytesPerUnitMax } from './text.js';
import type { EdmType, EdmValue, Property } from './value.js';

/** Where bags are put together before their length is known. */
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

const quote = 0x22;
const comma = 0x2c;

/**
 * The bag of some properties, in memory of its own. Names differ and follow the name rules, of
 * which the format needs that JSON escapes nothing in them and that 16 bits hold their lengths.
 */
export function encodeBag(properties: readonly Property[]): Bytes {
  const bytesMax = bagBytesMax(properties);
  const target = bytesMax <= scratch.length ? scratch : Buffer.allocUnsafeSlow(bytesMax);
  target[0] = bagFormat;
  writeU16(target, 1, properties.length);
  let header = firstProperty;
  let end = header + properties.length * propertyHeaderBytes + 4;
  for (const property of properties) {
    end = writeProperty(target, header, end, property);
    header += propertyHeaderBytes;
  }
  writeU32(target, header, end);
  const bag = Buffer.allocUnsafe(end);
  bag.set(target.subarray(0, end));
  return bag;
}

/** Bytes of a fragment besides its names and a string or binary value, at most. */
const fragmentOverheadBytes = 64 + instantBytesMax;

function bagBytesMax(properties: readonly Property[]): number {
  let bytes = firstProperty + 4;
  for (const { name, value } of properties) {
    bytes += propertyHeaderBytes + fragmentOverheadBytes + name.length * 2 * textBytesPerUnitMax;
    if (value.type === 'Edm.String') bytes += value.value.length * jsonBytesPerUnitMax;
    else if (value.type === 'Edm.Binary') bytes += base64Length(value.value.length);
  }
  return bytes;
}

/** Writes a fragment and its header; returns the fragment's end. */
function writeProperty(target: Buffer, header: number, start: number, property: Property): number {
  const { name, value } = property;
  target[start] = comma;
  target[start + 1] = quote;
  let nameFrom = start + 2;
  const nameEnd = writeName(target, nameFrom, name);
  const nameBytes = nameEnd - nameFrom;
  let end = nameEnd;
  const annotation = annotationOf(value);
  if (annotation !== undefined) {
    target.set(annotation, end);
    nameFrom = end + annotation.length;
    end = writeName(target, nameFrom, name);
  }
  target[end] = quote;
  target[end + 1] = 0x3a;
  writeHeader(target, header, start, tags[value.type], nameBytes, nameFrom - start - 2);
  return writeValue(target, end + 2, value);
}

/** Up to this length a loop beats a call into native code. */
const shortNameLength = 24;

function writeName(target: Buffer, at: number, name: string): number {
  const length = name.length;
  if (length > shortNameLength) return at + target.write(name, at, 'utf8');
  for (let index = 0; index < length; index++) {
    const code = name.charCodeAt(index);
    if (code >= 0x80) return at + target.write(name, at, 'utf8');
    target[at + index] = code;
  }
  return at + length;
}

const tags: Readonly<Record<EdmType, number>> = {
  'Edm.String': propertyTags.string,
  'Edm.Int32': propertyTags.int32,
  'Edm.Int64': propertyTags.int64,
  'Edm.Double': propertyTags.double,
  'Edm.Boolean': propertyTags.boolean,
  'Edm.DateTime': propertyTags.dateTime,
  'Edm.Guid': propertyTags.guid,
  'Edm.Binary': propertyTags.binary,
};

/** What stands between the two spellings of an annotated property's name. */
function annotationText(type: EdmType): Buffer {
  return Buffer.from(`@odata.type":"${type}","`, 'latin1');
}

const int64Annotation = annotationText('Edm.Int64');
const doubleAnnotation = annotationText('Edm.Double');
const dateTimeAnnotation = annotationText('Edm.DateTime');
const guidAnnotation = annotationText('Edm.Guid');
const binaryAnnotation = annotationText('Edm.Binary');

/** The type that the JSON of a value does not show by itself (spec table-service §4.3). */
function annotationOf(value: EdmValue): Buffer | undefined {
  switch (value.type) {
    case 'Edm.Int64':
      return int64Annotation;
    case 'Edm.DateTime':
      return dateTimeAnnotation;
    case 'Edm.Guid':
      return guidAnnotation;
    case 'Edm.Binary':
      return binaryAnnotation;
    case 'Edm.Double':
      return Number.isFinite(value.value) ? undefined : doubleAnnotation;
    case 'Edm.String':
    case 'Edm.Int32':
    case 'Edm.Boolean':
      return undefined;
    default:
      return unreachable(value);
  }
}

function writeValue(target: Buffer, at: number, value: EdmValue): number {
  switch (value.type) {
    case 'Edm.Int32':
      return writeInt32(target, at, value.value);
    case 'Edm.Boolean':
      return writeAscii(target, at, value.value ? 'true' : 'false');
    case 'Edm.Double':
      if (Number.isFinite(value.value)) return writeAscii(target, at, doubleText(value.value));
      break;
    default:
      break;
  }
  target[at] = quote;
  const close = writeQuoted(target, at + 1, value);
  target[close] = quote;
  return close + 1;
}

const wordView = new DataView(new ArrayBuffer(8));

/** Writes the content of a value that JSON shows as a string. */
function writeQuoted(target: Buffer, at: number, value: EdmValue): number {
  switch (value.type) {
    case 'Edm.String':
      return writeJsonText(target, at, value.value);
    case 'Edm.DateTime':
      // Halves are read from memory, because shifting would make bigints.
      wordView.setBigInt64(0, value.value);
      return writeTicks(target, at, wordView.getUint32(0), wordView.getUint32(4));
    case 'Edm.Guid':
      return writeAscii(target, at, value.value);
    case 'Edm.Int64':
    case 'Edm.Double':
      return writeAscii(target, at, String(value.value));
    case 'Edm.Binary':
      return at + target.write(asBuffer(value.value).toString('base64'), at, 'latin1');
    default:
      throw new InvariantError(`a value in quotes, not ${value.type}`);
  }
}
