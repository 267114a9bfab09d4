import type { Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import {
  bagCount,
  firstProperty,
  nameStart,
  nextProperty,
  propertyTag,
  propertyTags,
  readDouble,
  readI32,
  readI64,
  readU32,
  valueEnd,
  valueStart,
} from '../edm/bag.js';
import { instantBytesMax, writeTicks, writeTimestamp } from '../edm/date-time.js';
import { writeGuidText } from '../edm/guid.js';
import { asBuffer, readText } from '../edm/text.js';
import type { StoredEntity } from '../edm/value.js';
import {
  base64Length,
  doubleText,
  jsonBytesPerUnitMax,
  jsonText,
  writeAscii,
  writeBytes,
  writeInt32,
  writeJsonText,
} from './json-bytes.js';
import type { RenderContext } from './render-context.js';
import { entityPath } from './resource.js';
import { Selection } from './selection.js';

/** Bytes of a property's JSON besides its names and a string or binary value, at most. */
const propertyOverheadBytes = 96;

/** Bytes of an entity's JSON besides its keys, links and properties, at most. */
const entityOverheadBytes = 256 + 2 * instantBytesMax;

const quote = 0x22;
const comma = 0x2c;

const annotationMiddle = Buffer.from('@odata.type":"Edm.', 'latin1');
const etagStart = Buffer.from(`"odata.etag":"W/\\"datetime'`, 'latin1');
const etagEnd = Buffer.from(`'\\"",`, 'latin1');
const partitionKeyStart = Buffer.from('"PartitionKey":"', 'latin1');
const rowKeyStart = Buffer.from('"RowKey":"', 'latin1');
const timestampType = Buffer.from('"Timestamp@odata.type":"Edm.DateTime",', 'latin1');
const timestampStart = Buffer.from('"Timestamp":"', 'latin1');
const trueBytes = Buffer.from('true', 'latin1');
const falseBytes = Buffer.from('false', 'latin1');

/**
 * Where short results are put together: a copy of the right size costs less than a new buffer with
 * room to spare. Free again as soon as a writer has given its result; writers do not overlap.
 */
const scratch = Buffer.allocUnsafeSlow(32 * 1024);

/**
 * Writes entities as OData JSON into one buffer that grows by doubling. Every member is written
 * with a comma behind it; the comma of the last one becomes the closing brace. Only one writer may
 * be in use at a time.
 */
export class EntityWriter {
  readonly #context: RenderContext;
  readonly #annotated: boolean;
  readonly #selection: Selection | undefined;
  #target: Buffer;
  #at = 0;

  /** `bytes` is how long the result is expected to be. */
  constructor(context: RenderContext, bytes: number) {
    this.#context = context;
    this.#annotated = context.level !== 'none';
    this.#selection = context.select === undefined ? undefined : new Selection(context.select);
    this.#target = bytes <= scratch.length ? scratch : Buffer.allocUnsafe(bytes);
  }

  /** What has been written, in memory of its own. The writer is of no use afterwards. */
  result(): Buffer {
    const written = this.#target.subarray(0, this.#at);
    return this.#target === scratch ? Buffer.from(written) : written;
  }

  /** Writes a text as it is. */
  raw(text: string): void {
    this.#reserve(text.length * 3);
    this.#at += this.#target.write(text, this.#at, 'utf8');
  }

  /** Writes one entity. `members` is JSON that comes first, with a comma behind it, or empty. */
  entity(entity: StoredEntity, members: string): void {
    this.raw(members === '' ? '{' : `{${members}`);
    this.#systemMembers(entity);
    this.#properties(entity.bag);
    const last = this.#at - 1;
    if (this.#target[last] === comma) this.#target[last] = 0x7d;
    else this.raw('}');
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#target.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#target.length * 2));
    grown.set(this.#target.subarray(0, this.#at));
    this.#target = grown;
  }

  #systemMembers(entity: StoredEntity): void {
    const { level } = this.#context;
    if (level === 'full') this.#links(entity);
    const keyUnits = entity.partitionKey.length + entity.rowKey.length;
    this.#reserve(entityOverheadBytes + keyUnits * jsonBytesPerUnitMax);
    const target = this.#target;
    const selection = this.#selection;
    let at = this.#at;
    if (level === 'minimal') at = writeEtag(target, at, entity.version);
    if (selection === undefined || selection.partitionKey) {
      at = writeBytes(target, at, partitionKeyStart, 0, partitionKeyStart.length);
      at = writeStringEnd(target, writeJsonText(target, at, entity.partitionKey));
    }
    if (selection === undefined || selection.rowKey) {
      at = writeBytes(target, at, rowKeyStart, 0, rowKeyStart.length);
      at = writeStringEnd(target, writeJsonText(target, at, entity.rowKey));
    }
    if (selection === undefined || selection.timestamp) {
      if (level === 'full') at = writeBytes(target, at, timestampType, 0, timestampType.length);
      at = writeBytes(target, at, timestampStart, 0, timestampStart.length);
      at = writeStringEnd(target, writeTimestamp(target, at, entity.version, false));
    }
    this.#at = at;
  }

  /** The members that only full metadata has, with the etag between them. */
  #links(entity: StoredEntity): void {
    const { base, account, table } = this.#context;
    const path = jsonText(entityPath(table, entity.partitionKey, entity.rowKey));
    this.raw(`"odata.type":"${jsonText(`${account}.${table}`)}",`);
    this.raw(`"odata.id":"${jsonText(base)}/${path}",`);
    this.#reserve(entityOverheadBytes);
    this.#at = writeEtag(this.#target, this.#at, entity.version);
    this.raw(`"odata.editLink":"${path}",`);
  }

  #properties(bag: Bytes): void {
    const selection = this.#selection;
    selection?.begin();
    this.#reserve(propertiesBytesMax(bag));
    for (let at = firstProperty; at < bag.length; at = nextProperty(bag, at)) {
      if (selection === undefined || selection.take(bag, at)) this.#property(bag, at);
    }
    if (selection === undefined) return;
    for (const name of selection.missing()) this.raw(`"${jsonText(name)}":null,`);
  }

  #property(bag: Bytes, header: number): void {
    const tag = propertyTag(bag, header);
    const start = valueStart(bag, header);
    const end = valueEnd(bag, header);
    if (tag === propertyTags.string) {
      this.#escapedString(bag, header);
      return;
    }
    const target = this.#target;
    const name = nameStart(header);
    const type = this.#annotated ? annotationOf(bag, tag, start) : undefined;
    let at = this.#at;
    if (type !== undefined) at = writeAnnotation(target, at, bag, name, start, type);
    target[at++] = quote;
    at = writeBytes(target, at, bag, name, start);
    target[at++] = quote;
    target[at++] = 0x3a;
    at = writeValue(target, at, bag, tag, start, end);
    target[at++] = comma;
    this.#at = at;
  }

  /** A string that holds what JSON must escape; it can take far more room than in the bag. */
  #escapedString(bag: Bytes, header: number): void {
    const start = valueStart(bag, header);
    const value = readText(bag, start, valueEnd(bag, header));
    this.#reserve(value.length * jsonBytesPerUnitMax + propertiesBytesMax(bag));
    const target = this.#target;
    let at = this.#at;
    target[at++] = quote;
    at = writeBytes(target, at, bag, nameStart(header), start);
    at = writeAscii(target, at, '":"');
    this.#at = writeStringEnd(target, writeJsonText(target, at, value));
  }
}

/** Bytes of the JSON of a bag, were none of its strings to need escaping. */
function propertiesBytesMax(bag: Bytes): number {
  return bag.length * 2 + bagCount(bag) * propertyOverheadBytes;
}

function writeStringEnd(target: Buffer, at: number): number {
  target[at] = quote;
  target[at + 1] = comma;
  return at + 2;
}

function writeEtag(target: Buffer, at: number, version: number): number {
  let end = writeBytes(target, at, etagStart, 0, etagStart.length);
  end = writeTimestamp(target, end, version, true);
  return writeBytes(target, end, etagEnd, 0, etagEnd.length);
}

const int64Name = Buffer.from('Int64', 'latin1');
const doubleName = Buffer.from('Double', 'latin1');
const dateTimeName = Buffer.from('DateTime', 'latin1');
const guidName = Buffer.from('Guid', 'latin1');
const binaryName = Buffer.from('Binary', 'latin1');

/** The type that the JSON of a value does not show by itself (spec §4.3). */
function annotationOf(bag: Bytes, tag: number, start: number): Buffer | undefined {
  switch (tag) {
    case propertyTags.int64:
      return int64Name;
    case propertyTags.dateTime:
      return dateTimeName;
    case propertyTags.guid:
      return guidName;
    case propertyTags.binary:
      return binaryName;
    case propertyTags.double:
      return Number.isFinite(readDouble(bag, start)) ? undefined : doubleName;
    default:
      return undefined;
  }
}

function writeAnnotation(
  target: Buffer,
  at: number,
  bag: Bytes,
  nameFrom: number,
  nameTo: number,
  type: Buffer,
): number {
  target[at] = quote;
  let end = writeBytes(target, at + 1, bag, nameFrom, nameTo);
  end = writeBytes(target, end, annotationMiddle, 0, annotationMiddle.length);
  end = writeBytes(target, end, type, 0, type.length);
  return writeStringEnd(target, end);
}

/** Writes any value but an escaped string. */
function writeValue(
  target: Buffer,
  at: number,
  bag: Bytes,
  tag: number,
  start: number,
  end: number,
): number {
  switch (tag) {
    case propertyTags.int32:
      return writeInt32(target, at, readI32(bag, start));
    case propertyTags.boolean:
      return bag[start] === 1
        ? writeBytes(target, at, trueBytes, 0, trueBytes.length)
        : writeBytes(target, at, falseBytes, 0, falseBytes.length);
    case propertyTags.double:
      return writeDouble(target, at, readDouble(bag, start));
    default:
      break;
  }
  target[at] = quote;
  const close = writeQuoted(target, at + 1, bag, tag, start, end);
  target[close] = quote;
  return close + 1;
}

/** Writes the content of a value that JSON shows as a string. */
function writeQuoted(
  target: Buffer,
  at: number,
  bag: Bytes,
  tag: number,
  start: number,
  end: number,
): number {
  switch (tag) {
    case propertyTags.plainString:
      return writeBytes(target, at, bag, start, end);
    case propertyTags.int64:
      return writeInt64(target, at, bag, start);
    case propertyTags.dateTime:
      return writeTicks(target, at, readU32(bag, start), readU32(bag, start + 4));
    case propertyTags.guid:
      return writeGuidText(target, at, bag, start);
    default:
      invariant(tag === propertyTags.binary, 'a known property tag');
      asBuffer(target).write(asBuffer(bag).toString('base64', start, end), at, 'latin1');
      return at + base64Length(end - start);
  }
}

function writeDouble(target: Buffer, at: number, value: number): number {
  if (Number.isFinite(value)) return writeAscii(target, at, doubleText(value));
  target[at] = quote;
  const close = writeAscii(target, at + 1, String(value));
  target[close] = quote;
  return close + 1;
}

/** The range of the upper half in which an Int64 is a safe integer. */
const safeHighMax = 2 ** 20;

function writeInt64(target: Buffer, at: number, bag: Bytes, start: number): number {
  const high = readI32(bag, start);
  const safe = high >= -safeHighMax && high < safeHighMax;
  const value = safe ? high * 2 ** 32 + readU32(bag, start + 4) : readI64(bag, start);
  return writeAscii(target, at, String(value));
}
