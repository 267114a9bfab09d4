import type { Bytes } from '../../base/bytes.js';
import {
  annotationLength,
  firstProperty,
  fragmentEnd,
  fragmentStart,
  headersEnd,
  propertyHeaderBytes,
  textEnd,
  textStart,
} from '../../model/bag/bag.js';
import { instantBytesMax, writeTimestamp } from '../../model/edm/date-time.js';
import {
  jsonBytesPerUnitMax,
  jsonText,
  writeBytes,
  writeJsonText,
} from '../../model/bag/json-bytes.js';
import type { StoredEntity } from '../../model/edm/value.js';
import type { RenderContext } from './render-context.js';
import { entityPath } from './resource.js';
import { Selection } from './selection.js';

/** The maximum bytes of an entity's JSON besides its keys, links and properties. */
const entityOverheadBytes = 256 + 2 * instantBytesMax;

const quote = 0x22;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const etagStart = Buffer.from(`,"odata.etag":"W/\\"datetime'`, 'latin1');
const etagEnd = Buffer.from(`'\\""`, 'latin1');
const partitionKeyStart = Buffer.from(',"PartitionKey":"', 'latin1');
const rowKeyStart = Buffer.from(',"RowKey":"', 'latin1');
const timestampType = Buffer.from(',"Timestamp@odata.type":"Edm.DateTime"', 'latin1');
const timestampStart = Buffer.from(',"Timestamp":"', 'latin1');

/**
 * The estimated size of an answer that is written at once: much less than a millisecond's work,
 * because a turn of the event loop costs as much.
 */
export const bytesAtOnceMax = 256 * 1024;

/**
 * A shared buffer for results that are written at once: a copy of the right size costs less than a
 * new buffer with spare room. It is larger than estimates, which do not count escapes in keys.
 */
const scratch = Buffer.allocUnsafeSlow(bytesAtOnceMax + 64 * 1024);
/** The writer whose output is in the shared buffer. */
let holder: EntityWriter | undefined;

/**
 * Writes entities as OData JSON into one buffer that grows by doubling. Every member is written
 * with a comma before it; the comma of the first one becomes the opening brace. The newest writer
 * has the shared buffer; the one before continues in memory of its own.
 */
export class EntityWriter {
  readonly #context: RenderContext;
  readonly #selection: Selection | undefined;
  #target: Buffer;
  #at = 0;
  /** The version of the last entity. */
  #version = Number.NaN;
  #partitionKey = '';
  /** Where its members before RowKey and its Timestamp are. */
  #headStart = 0;
  #headEnd = 0;
  #timestampStart = 0;
  #timestampEnd = 0;

  private constructor(context: RenderContext, target: Buffer) {
    this.#context = context;
    this.#selection = context.select === undefined ? undefined : new Selection(context.select);
    this.#target = target;
  }

  /** `bytes`: the expected length of the result. */
  static start(context: RenderContext, bytes: number): EntityWriter {
    if (bytes > scratch.length) return new EntityWriter(context, Buffer.allocUnsafe(bytes));
    if (holder !== undefined) holder.#leaveShared();
    holder = new EntityWriter(context, scratch);
    return holder;
  }

  /** A copy of the output. The writer cannot be used afterwards. */
  result(): Buffer {
    const written = this.#target.subarray(0, this.#at);
    if (this.#target !== scratch) return written;
    holder = undefined;
    return Buffer.from(written);
  }

  /** Reserves room for `bytes` further bytes, when they are known to come. */
  expect(bytes: number): void {
    this.#reserve(bytes);
  }

  /** Writes a text as it is. */
  raw(text: string): void {
    this.#reserve(text.length * 3);
    this.#at += this.#target.write(text, this.#at, 'utf8');
  }

  /** Writes the separator of two entities. */
  comma(): void {
    this.#reserve(1);
    this.#target[this.#at++] = comma;
  }

  /**
   * Writes one entity. `members` is JSON for its first members, with a comma before it, or empty as
   * for all entities of a page.
   */
  entity(entity: StoredEntity, members: string): void {
    const start = this.#at;
    if (members !== '') this.raw(members);
    this.#systemMembers(entity);
    this.#properties(entity.bag);
    this.#reserve(2);
    if (this.#at === start) this.#at++;
    this.#target[start] = openBrace;
    this.#target[this.#at++] = closeBrace;
  }

  #reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed > this.#target.length) this.#moveTo(Math.max(needed, this.#target.length * 2));
  }

  #leaveShared(): void {
    this.#moveTo(this.#at * 2);
  }

  #moveTo(bytes: number): void {
    const moved = Buffer.allocUnsafe(bytes);
    moved.set(this.#target.subarray(0, this.#at));
    if (holder === this) holder = undefined;
    this.#target = moved;
  }

  #systemMembers(entity: StoredEntity): void {
    const { level } = this.#context;
    if (level === 'full') this.#links(entity);
    const keyUnits = entity.partitionKey.length + entity.rowKey.length;
    const bagBytes = textEnd(entity.bag);
    this.#reserve(entityOverheadBytes + keyUnits * jsonBytesPerUnitMax + bagBytes);
    const target = this.#target;
    const selection = this.#selection;
    // Rows of one transaction are neighbours and have one version; a copy costs less than digits.
    const isLikeLast =
      entity.version === this.#version && entity.partitionKey === this.#partitionKey;
    this.#version = entity.version;
    this.#partitionKey = entity.partitionKey;
    let at = isLikeLast ? this.#headAgain() : this.#head(entity);
    if (selection === undefined || selection.rowKey) {
      at = writeBytes(target, at, rowKeyStart, 0, rowKeyStart.length);
      at = writeStringEnd(target, writeJsonText(target, at, entity.rowKey));
    }
    this.#at = isLikeLast ? this.#timestampAgain(at) : this.#timestamp(entity, at);
  }

  /** The members before RowKey. */
  #head(entity: StoredEntity): number {
    const target = this.#target;
    const selection = this.#selection;
    let at = this.#at;
    this.#headStart = at;
    if (this.#context.level === 'minimal') at = writeEtag(target, at, entity.version);
    if (selection === undefined || selection.partitionKey) {
      at = writeBytes(target, at, partitionKeyStart, 0, partitionKeyStart.length);
      at = writeStringEnd(target, writeJsonText(target, at, entity.partitionKey));
    }
    this.#headEnd = at;
    return at;
  }

  #headAgain(): number {
    const at = this.#at;
    this.#target.copyWithin(at, this.#headStart, this.#headEnd);
    return at + this.#headEnd - this.#headStart;
  }

  #timestamp(entity: StoredEntity, start: number): number {
    const target = this.#target;
    const selection = this.#selection;
    let at = start;
    this.#timestampStart = at;
    if (selection === undefined || selection.timestamp) {
      if (this.#context.level === 'full') {
        at = writeBytes(target, at, timestampType, 0, timestampType.length);
      }
      at = writeBytes(target, at, timestampStart, 0, timestampStart.length);
      at = writeStringEnd(target, writeTimestamp(target, at, entity.version, false));
    }
    this.#timestampEnd = at;
    return at;
  }

  #timestampAgain(at: number): number {
    this.#target.copyWithin(at, this.#timestampStart, this.#timestampEnd);
    return at + this.#timestampEnd - this.#timestampStart;
  }

  /** The members that only full metadata has, with the etag between them. */
  #links(entity: StoredEntity): void {
    const { base, account, table } = this.#context;
    const path = jsonText(entityPath(table, entity.partitionKey, entity.rowKey));
    this.raw(`,"odata.type":"${jsonText(`${account}.${table}`)}"`);
    this.raw(`,"odata.id":"${jsonText(base)}/${path}"`);
    this.#reserve(entityOverheadBytes);
    this.#at = writeEtag(this.#target, this.#at, entity.version);
    this.raw(`,"odata.editLink":"${path}"`);
  }

  /** Copies the stored text, or the selected parts of it; the space is reserved. */
  #properties(bag: Bytes): void {
    const selection = this.#selection;
    if (selection !== undefined) this.#selected(bag, selection);
    else if (this.#context.level === 'none') this.#at = writePlain(this.#target, this.#at, bag);
    else this.#at = writeBytes(this.#target, this.#at, bag, textStart(bag), textEnd(bag));
  }

  #selected(bag: Bytes, selection: Selection): void {
    const target = this.#target;
    const annotated = this.#context.level !== 'none';
    selection.begin();
    const headers = headersEnd(bag);
    for (let header = firstProperty; header < headers; header += propertyHeaderBytes) {
      if (!selection.take(bag, header)) continue;
      const start = fragmentStart(bag, header);
      const skipped = annotated ? 0 : annotationLength(bag, header);
      target[this.#at] = comma;
      const end = fragmentEnd(bag, header);
      this.#at = writeBytes(target, this.#at + 1, bag, start + 1 + skipped, end);
    }
    selection.forMissing((member) => {
      this.#reserve(member.length);
      this.#at = writeBytes(this.#target, this.#at, member, 0, member.length);
    });
  }
}

/** Writes the properties without their annotations, run by run. */
function writePlain(target: Buffer, at: number, bag: Bytes): number {
  let end = at;
  let from = textStart(bag);
  const headers = headersEnd(bag);
  for (let header = firstProperty; header < headers; header += propertyHeaderBytes) {
    const annotation = annotationLength(bag, header);
    if (annotation === 0) continue;
    const annotationStart = fragmentStart(bag, header) + 1;
    end = writeBytes(target, end, bag, from, annotationStart);
    from = annotationStart + annotation;
  }
  return writeBytes(target, end, bag, from, textEnd(bag));
}

function writeStringEnd(target: Buffer, at: number): number {
  target[at] = quote;
  return at + 1;
}

function writeEtag(target: Buffer, at: number, version: number): number {
  let end = writeBytes(target, at, etagStart, 0, etagStart.length);
  end = writeTimestamp(target, end, version, true);
  return writeBytes(target, end, etagEnd, 0, etagEnd.length);
}
