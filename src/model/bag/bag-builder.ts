import { asBuffer, type Bytes } from '../../base/bytes.js';
import { InvariantError } from '../../base/invariant.js';
import {
  bagFormat,
  firstProperty,
  propertyHeaderBytes,
  propertyTags,
  writeHeader,
  writeU16,
  writeU32,
} from './bag-layout.js';
import { instantBytesMax, writeDateTime, writeTicks } from '../edm/date-time.js';
import { binarySize, fixedSizes, propertySize, stringSize } from '../edm/entity-size.js';
import {
  base64Length,
  doubleText,
  jsonBytesPerUnitMax,
  writeAscii,
  writeBytes,
  writeInt32,
  writeJsonText,
} from './json-bytes.js';
import { binaryBytesMax, propertyNameLengthMax, stringLengthMax } from '../edm/limits.js';
import { textBytesPerUnitMax } from './text.js';
import type { EdmType, EdmValue, Property, PropertyBag } from '../edm/value.js';

/** Sources of up to this many bytes can be copied from. */
const sourceBytesMax = 64 * 1024;
/** The buffer of a builder: the source, followed by the text of a bag. */
const keptBytes = 320 * 1024;

const headerWords = 4;
const keptHeaders = 256;

/** The maximum bytes of a fragment without its name and string or binary value. */
const fragmentOverheadBytes = 64 + instantBytesMax;

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;

/** Types whose canonical text is ASCII without quotes. */
type PlainType = Exclude<EdmType, 'Edm.String'>;

/**
 * Builds one bag after another: `begin`, properties, `finish`. Names must be distinct and follow
 * the name rules, so that they need no JSON escapes and their lengths fit into 16 bits. Bags over
 * the limits of an entity are built too; the result tells.
 */
export class BagBuilder {
  #buffer = Buffer.allocUnsafeSlow(keptBytes);
  #end = sourceBytesMax;
  /** Per property: the offset of its fragment, tag, bytes of its name and of its annotation. */
  #headers = new Uint32Array(keptHeaders * headerWords);
  #count = 0;
  #bytes = 0;
  #nameTooLong = false;
  #valueTooLarge = false;

  /** Starts a bag and discards an unfinished one. */
  begin(): void {
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafeSlow(keptBytes);
    if (this.#headers.length > keptHeaders * headerWords) {
      this.#headers = new Uint32Array(keptHeaders * headerWords);
    }
    this.#end = sourceBytesMax;
    this.#count = 0;
    this.#bytes = 0;
    this.#nameTooLong = false;
    this.#valueTooLarge = false;
  }

  /**
   * Sets the source for `copy` until the next call. Returns false when the text is too long or not
   * ASCII; nothing can be copied from it then.
   */
  takeSource(text: string): boolean {
    const { length } = text;
    return (
      length <= sourceBytesMax && this.#buffer.write(text, 0, sourceBytesMax, 'utf8') === length
    );
  }

  /** A copy of a text that does not keep a longer parent string alive, as a substring would. */
  ownText(text: string): string {
    this.#reserve(text.length * textBytesPerUnitMax);
    const end = this.#end + this.#buffer.write(text, this.#end, 'utf8');
    return end - this.#end === text.length
      ? this.#buffer.toString('latin1', this.#end, end)
      : Buffer.from(text, 'utf16le').toString('utf16le');
  }

  /**
   * Adds a property whose canonical fragment, without the comma, stands in the source.
   * `units`: the length of a string, the bytes of a binary value; ignored for other types.
   */
  copy(name: string, type: EdmType, range: SourceRange, units: number): void {
    const length = range.end - range.start;
    this.#reserve(length + 1);
    const start = this.#end;
    const annotation = annotationLengths[type];
    const annotationBytes = annotation === 0 ? 0 : name.length + annotation;
    this.#account(name, tags[type], name.length, annotationBytes);
    this.#charge(name, type, units);
    this.#buffer[start] = comma;
    this.#buffer.copyWithin(start + 1, range.start, range.end);
    this.#end = start + 1 + length;
  }

  /** Adds a property of another bag, with the value that it has there. */
  copyStored(
    { name, value }: Property,
    stored: { readonly bag: Bytes; readonly start: number; readonly end: number },
    lengths: { readonly nameBytes: number; readonly annotationBytes: number },
  ): void {
    this.#reserve(stored.end - stored.start);
    this.#account(name, tags[value.type], lengths.nameBytes, lengths.annotationBytes);
    this.#charge(name, value.type, valueUnits(value));
    this.#end = writeBytes(this.#buffer, this.#end, stored.bag, stored.start, stored.end);
  }

  string(name: string, text: string): void {
    let end = this.#open(name, 'Edm.String', false, text.length * jsonBytesPerUnitMax);
    this.#charge(name, 'Edm.String', text.length);
    this.#buffer[end] = quote;
    end = writeJsonText(this.#buffer, end + 1, text);
    this.#buffer[end] = quote;
    this.#end = end + 1;
  }

  /**
   * Adds a value by its canonical text, without the quotes. `units` are the bytes of a binary
   * value, and ignored for other types.
   */
  plain(name: string, type: PlainType, text: string, units: number): void {
    const isQuoted = annotationLengths[type] > 0;
    let end = this.#open(name, type, isQuoted, text.length);
    this.#charge(name, type, units);
    if (isQuoted) this.#buffer[end++] = quote;
    end = writeAscii(this.#buffer, end, text);
    if (isQuoted) this.#buffer[end++] = quote;
    this.#end = end;
  }

  /** Adds a date: seconds since 0001-01-01 and 100 ns units, within what a property can hold. */
  dateTime(name: string, seconds: number, fraction: number): void {
    let end = this.#open(name, 'Edm.DateTime', true, 0);
    this.#charge(name, 'Edm.DateTime', 0);
    this.#buffer[end] = quote;
    end = writeDateTime(this.#buffer, end + 1, seconds, fraction);
    this.#buffer[end] = quote;
    this.#end = end + 1;
  }

  add(name: string, value: EdmValue): void {
    if (value.type === 'Edm.String') {
      this.string(name, value.value);
      return;
    }
    const units = valueUnits(value);
    const end = this.#open(name, value.type, isAnnotated(value), base64Length(units));
    this.#charge(name, value.type, units);
    this.#end = writeValue(this.#buffer, end, value);
  }

  /** The bag of all that was added since `begin`, in memory of its own. */
  finish(): PropertyBag {
    const count = this.#count;
    const base = firstProperty + count * propertyHeaderBytes + 4;
    const bag = Buffer.allocUnsafe(base + this.#end - sourceBytesMax);
    bag[0] = bagFormat;
    writeU16(bag, 1, count);
    const shift = base - sourceBytesMax;
    let header = firstProperty;
    for (let word = 0; word < count * headerWords; word += headerWords) {
      const fragment = shift + (this.#headers[word] ?? 0);
      const names = this.#headers[word + 2] ?? 0;
      const annotation = this.#headers[word + 3] ?? 0;
      writeHeader(bag, header, fragment, this.#headers[word + 1] ?? 0, names, annotation);
      header += propertyHeaderBytes;
    }
    writeU32(bag, header, bag.length);
    this.#buffer.copy(bag, base, sourceBytesMax, this.#end);
    return {
      bag,
      count,
      propertyBytes: this.#bytes,
      nameTooLong: this.#nameTooLong,
      valueTooLarge: this.#valueTooLarge,
    };
  }

  get count(): number {
    return this.#count;
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    larger.set(this.#buffer.subarray(0, this.#end));
    this.#buffer = larger;
  }

  /** Appends the header of the fragment at the end of the text. */
  #account(name: string, tag: number, nameBytes: number, annotationBytes: number): void {
    const word = this.#count * headerWords;
    if (word === this.#headers.length) {
      const larger = new Uint32Array(word * 2);
      larger.set(this.#headers);
      this.#headers = larger;
    }
    this.#headers[word] = this.#end;
    this.#headers[word + 1] = tag;
    this.#headers[word + 2] = nameBytes;
    this.#headers[word + 3] = annotationBytes;
    this.#count += 1;
    if (name.length > propertyNameLengthMax) this.#nameTooLong = true;
  }

  #charge(name: string, type: EdmType, units: number): void {
    let bytes: number;
    if (type === 'Edm.String') {
      bytes = stringSize(units);
      if (units > stringLengthMax) this.#valueTooLarge = true;
    } else if (type === 'Edm.Binary') {
      bytes = binarySize(units);
      if (units > binaryBytesMax) this.#valueTooLarge = true;
    } else {
      bytes = fixedSizes[type];
    }
    this.#bytes += propertySize(name.length, bytes);
  }

  /** Writes a fragment up to its value, whose space it reserves; returns the end. */
  #open(name: string, type: EdmType, annotated: boolean, valueBytesMax: number): number {
    this.#reserve(fragmentOverheadBytes + name.length * 2 * textBytesPerUnitMax + valueBytesMax);
    const target = this.#buffer;
    const start = this.#end;
    target[start] = comma;
    target[start + 1] = quote;
    let nameFrom = start + 2;
    let end = writeName(target, nameFrom, name);
    const nameBytes = end - nameFrom;
    if (annotated) {
      const annotation = annotations[type];
      target.set(annotation, end);
      nameFrom = end + annotation.length;
      end = writeName(target, nameFrom, name);
    }
    this.#account(name, tags[type], nameBytes, nameFrom - start - 2);
    target[end] = quote;
    target[end + 1] = colon;
    return end + 2;
  }
}

/** The code units of a string, the bytes of a binary value; 0 for types of one size. */
function valueUnits(value: EdmValue): number {
  return value.type === 'Edm.String' || value.type === 'Edm.Binary' ? value.value.length : 0;
}

/** A range of offsets in a source; `end` is exclusive. */
export interface SourceRange {
  readonly start: number;
  readonly end: number;
}

const shared = new BagBuilder();

/** The bag of properties whose names follow the rules of `BagBuilder`. */
export function propertyBagOf(properties: readonly Property[]): PropertyBag {
  shared.begin();
  for (const { name, value } of properties) shared.add(name, value);
  return shared.finish();
}

/** The same bag without the sizes for limits. */
export function encodeBag(properties: readonly Property[]): Bytes {
  return propertyBagOf(properties).bag;
}

/** Up to this length a loop is faster than a call into native code. */
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

/** The text between the two spellings of the name of an annotated property. */
function annotationText(type: EdmType): Buffer {
  return Buffer.from(`@odata.type":"${type}","`, 'latin1');
}

const annotations: Readonly<Record<EdmType, Buffer>> = {
  'Edm.String': annotationText('Edm.String'),
  'Edm.Int32': annotationText('Edm.Int32'),
  'Edm.Int64': annotationText('Edm.Int64'),
  'Edm.Double': annotationText('Edm.Double'),
  'Edm.Boolean': annotationText('Edm.Boolean'),
  'Edm.DateTime': annotationText('Edm.DateTime'),
  'Edm.Guid': annotationText('Edm.Guid'),
  'Edm.Binary': annotationText('Edm.Binary'),
};

/**
 * The characters between the two spellings of a property's name; 0 when there is one spelling,
 * because the JSON shows the type. Assumes that a Double is finite.
 */
export const annotationLengths: Readonly<Record<EdmType, number>> = {
  'Edm.String': 0,
  'Edm.Int32': 0,
  'Edm.Int64': annotations['Edm.Int64'].length,
  'Edm.Double': 0,
  'Edm.Boolean': 0,
  'Edm.DateTime': annotations['Edm.DateTime'].length,
  'Edm.Guid': annotations['Edm.Guid'].length,
  'Edm.Binary': annotations['Edm.Binary'].length,
};

/** True when the JSON of a value does not show its type (table-service §4.3). */
function isAnnotated(value: EdmValue): boolean {
  if (value.type === 'Edm.Double') return !Number.isFinite(value.value);
  return annotationLengths[value.type] > 0;
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
    case 'Edm.DateTime':
      // Reads the two 32-bit halves from memory; shifts would allocate bigints.
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
