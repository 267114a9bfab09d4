import { crc64Mismatch } from '../../model/errors/blob-errors.js';
import { invalidHeader, missingHeader } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { Crc64 } from '../checksum/crc64.js';
import { countHeader, type HeaderLookup } from './header-values.js';

// Content in segments, each with its checksum (blob-service §11.5). Numbers are little endian:
//   header   version u8, bytes of the whole u64, flags u16, segments u16
//   segment  number u16 from 1, bytes u64; the bytes; their CRC-64
//   trailer  CRC-64 of all content

export const structuredHeader = 'x-ms-structured-body';
export const structuredLengthHeader = 'x-ms-structured-content-length';
/** The only form of a structured body. */
export const structuredForm = 'XSM/1.0; properties=crc64';

const version = 1;
/** The flag that says that there are checksums. */
const hasCrc64 = 1;
const headerBytes = 13;
const segmentHeadBytes = 10;
const crc64Bytes = 8;
const segmentsMax = 0xff_ff;
const segmentBytesMax = 4 * 1024 * 1024;

/** Bytes around a content of any length, at most. */
export const framingBytesMax = framedBytes(0, segmentsMax);

function framedBytes(contentBytes: number, segments: number): number {
  return headerBytes + segments * (segmentHeadBytes + crc64Bytes) + contentBytes + crc64Bytes;
}

/**
 * Whether a request has, or wants, a structured body. Throws `InvalidHeaderValue` for another form.
 */
export function isStructured(header: HeaderLookup): boolean {
  const text = header(structuredHeader);
  if (text === undefined || text === '') return false;
  if (text.replaceAll(' ', '').toLowerCase() !== structuredForm.replaceAll(' ', '').toLowerCase()) {
    throw invalidHeader(structuredHeader, text);
  }
  return true;
}

/**
 * The bytes of the content of a structured body. Throws `MissingRequiredHeader`,
 * `InvalidHeaderValue`.
 */
export function structuredContentBytes(header: HeaderLookup): number {
  const bytes = countHeader(header, structuredLengthHeader);
  if (bytes === undefined) throw missingHeader(structuredLengthHeader);
  return bytes;
}

function malformed(reason: string): StorageError {
  return new StorageError('InvalidInput', { message: `The structured body ${reason}.` });
}

/** The next part of a body. */
type Part = 'header' | 'segment head' | 'content' | 'segment sum' | 'trailer' | 'end';

const partBytes: Readonly<Record<Exclude<Part, 'content' | 'end'>, number>> = {
  header: headerBytes,
  'segment head': segmentHeadBytes,
  'segment sum': crc64Bytes,
  trailer: crc64Bytes,
};

/**
 * Takes a structured body in pieces of any length and gives its content. The caller must discard
 * the stored content when a call throws: `InvalidInput` for another structure, `Crc64Mismatch`.
 */
export class StructuredReader {
  readonly #contentBytes: number;
  readonly #whole: Crc64;
  #part: Part = 'header';
  /** The beginning of a part that a piece has cut. */
  readonly #gathered = Buffer.alloc(headerBytes);
  #gatheredBytes = 0;
  #segments = 0;
  #segment = 0;
  #segmentLeft = 0;
  #segmentSum = new Crc64();
  #contentLeft: number;

  /** `whole` gets every byte of the content. */
  constructor(contentBytes: number, whole: Crc64) {
    this.#contentBytes = contentBytes;
    this.#contentLeft = contentBytes;
    this.#whole = whole;
  }

  /** The parts of the content in a piece, as views of it. */
  *take(piece: Buffer): Generator<Buffer> {
    let at = 0;
    while (at < piece.length) {
      if (this.#part === 'end') throw malformed('has bytes behind its end');
      if (this.#part === 'content') {
        const content = piece.subarray(at, at + this.#segmentLeft);
        at += content.length;
        this.#count(content);
        yield content;
        continue;
      }
      const missing = partBytes[this.#part] - this.#gatheredBytes;
      const taken = piece.copy(this.#gathered, this.#gatheredBytes, at, at + missing);
      at += taken;
      this.#gatheredBytes += taken;
      if (taken < missing) return;
      this.#gatheredBytes = 0;
      this.#read(this.#part);
    }
  }

  /** To be called when all pieces were taken. */
  end(): void {
    if (this.#part !== 'end') throw malformed('ends too early');
  }

  #count(content: Buffer): void {
    this.#segmentSum.update(content);
    this.#whole.update(content);
    this.#segmentLeft -= content.length;
    if (this.#segmentLeft === 0) this.#part = 'segment sum';
  }

  #read(part: Exclude<Part, 'content' | 'end'>): void {
    switch (part) {
      case 'header':
        return this.#readHeader();
      case 'segment head':
        return this.#readSegmentHead();
      case 'segment sum':
        this.#compare(this.#segmentSum);
        return this.#expectSegment();
      case 'trailer':
        this.#compare(this.#whole);
        this.#part = 'end';
    }
  }

  #readHeader(): void {
    const header = this.#gathered;
    if (header.readUInt8(0) !== version) throw malformed('has another version than 1');
    if (header.readUInt16LE(9) !== hasCrc64) throw malformed('has other flags than 1');
    this.#segments = header.readUInt16LE(11);
    const bytes = framedBytes(this.#contentBytes, this.#segments);
    if (header.readBigUInt64LE(1) !== BigInt(bytes)) {
      throw malformed(`says another length than ${bytes}, that of its content and segments`);
    }
    this.#expectSegment();
  }

  #expectSegment(): void {
    if (this.#segment < this.#segments) {
      this.#part = 'segment head';
      return;
    }
    if (this.#contentLeft > 0) throw malformed('has less content than it says');
    this.#part = 'trailer';
  }

  #readSegmentHead(): void {
    const head = this.#gathered;
    this.#segment += 1;
    const { contentLeft, segment } = { contentLeft: this.#contentLeft, segment: this.#segment };
    if (head.readUInt16LE(0) !== segment) throw malformed(`lacks its segment ${segment}`);
    const bytes = head.readBigUInt64LE(2);
    if (bytes > segmentBytesMax) {
      throw malformed(`has a segment of more than ${segmentBytesMax} bytes`);
    }
    this.#segmentLeft = Number(bytes);
    if (this.#segmentLeft > contentLeft) throw malformed('has more content than it says');
    this.#contentLeft -= this.#segmentLeft;
    this.#segmentSum = new Crc64();
    this.#part = this.#segmentLeft === 0 ? 'segment sum' : 'content';
  }

  #compare(sum: Crc64): void {
    const claimed = this.#gathered.subarray(0, crc64Bytes);
    const actual = sum.digest();
    if (actual.equals(claimed)) return;
    throw crc64Mismatch(claimed.toString('base64'), actual.toString('base64'));
  }
}

/** Content as a structured body. */
export class StructuredWriter {
  readonly #contentBytes: number;
  readonly #segments: number;
  #at = 0;
  #segmentLeft = 0;
  readonly #whole = new Crc64();
  #segmentSum = new Crc64();

  /** Throws `OutOfRangeInput` for more content than one such body can have. */
  constructor(contentBytes: number) {
    this.#contentBytes = contentBytes;
    // Clients wait for a segment, also of nothing.
    this.#segments = Math.max(1, Math.ceil(contentBytes / segmentBytesMax));
    if (this.#segments > segmentsMax) {
      throw new StorageError('OutOfRangeInput', {
        message: `A structured body has ${segmentsMax * segmentBytesMax} bytes at most: read a range.`,
      });
    }
  }

  /** Bytes of the body. */
  get bytes(): number {
    return framedBytes(this.#contentBytes, this.#segments);
  }

  /** The bytes before the content. */
  begin(): Buffer {
    const header = Buffer.alloc(headerBytes);
    header.writeUInt8(version, 0);
    header.writeBigUInt64LE(BigInt(this.bytes), 1);
    header.writeUInt16LE(hasCrc64, 9);
    header.writeUInt16LE(this.#segments, 11);
    return header;
  }

  /** A piece of the content, as views of it, with the framing around them. */
  *add(piece: Buffer): Generator<Buffer> {
    for (let at = 0; at < piece.length;) {
      if (this.#segmentLeft === 0) yield this.#beginSegment();
      const content = piece.subarray(at, at + this.#segmentLeft);
      this.#segmentSum.update(content);
      this.#whole.update(content);
      this.#segmentLeft -= content.length;
      this.#at += content.length;
      at += content.length;
      yield content;
      if (this.#segmentLeft === 0) yield this.#segmentSum.digest();
    }
  }

  /** The bytes after the content. */
  end(): Buffer {
    const sum = this.#whole.digest();
    if (this.#contentBytes > 0) return sum;
    return Buffer.concat([this.#beginSegment(), this.#segmentSum.digest(), sum]);
  }

  #beginSegment(): Buffer {
    this.#segmentLeft = Math.min(segmentBytesMax, this.#contentBytes - this.#at);
    this.#segmentSum = new Crc64();
    const head = Buffer.alloc(segmentHeadBytes);
    head.writeUInt16LE(Math.floor(this.#at / segmentBytesMax) + 1, 0);
    head.writeBigUInt64LE(BigInt(this.#segmentLeft), 2);
    return head;
  }
}
