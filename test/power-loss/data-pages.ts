import { crc32 } from 'node:zlib';
import { readWhole, writeWhole } from '../../src/engines/journal/whole-number.js';
import type { Entry } from '../../src/kv/store.js';
import { sectorBytes } from './sectors.js';

/** A page of the model has two sectors, so that it can be torn between them. */
export const pageBytes = 2 * sectorBytes;
/** Two roots alternately describe the last transaction. */
export const rootSlots = 2;
/** Entries are distributed over so many buckets, by their keys; each is written as a whole. */
export const bucketCount = 16;

/** Where a bucket is in the file; without pages: it is empty. */
export interface Extent {
  readonly page: number;
  readonly pages: number;
}

/** What a transaction has made of the file. It fits in a sector. */
export interface Root {
  readonly transaction: number;
  readonly lastVersion: number;
  /** One for each bucket. */
  readonly extents: readonly Extent[];
}

export const emptyRoot: Root = {
  transaction: 0,
  lastVersion: 0,
  extents: Array.from({ length: bucketCount }, () => ({ page: 0, pages: 0 })),
};

const extentBytes = 8;
const lastVersionAt = bucketCount * extentBytes;
const transactionAt = lastVersionAt + 8;

/**
 * Like that of the engine, it has no checksum, and the number of the transaction comes last: a
 * beginning of it leaves the number that was there before, and then the other root counts.
 */
export function encodeRoot({ transaction, lastVersion, extents }: Root): Buffer {
  const bytes = Buffer.alloc(sectorBytes);
  for (const [bucket, { page, pages }] of extents.entries()) {
    bytes.writeUInt32LE(page, bucket * extentBytes);
    bytes.writeUInt32LE(pages, bucket * extentBytes + 4);
  }
  writeWhole(bytes, lastVersion, lastVersionAt);
  writeWhole(bytes, transaction, transactionAt);
  return bytes;
}

export function decodeRoot(content: Buffer, slot: number): Root {
  const bytes = content.subarray(slot * pageBytes, slot * pageBytes + sectorBytes);
  const extents = Array.from({ length: bucketCount }, (_, bucket) => ({
    page: bytes.readUInt32LE(bucket * extentBytes),
    pages: bytes.readUInt32LE(bucket * extentBytes + 4),
  }));
  const lastVersion = readWhole(bytes, lastVersionAt);
  return { transaction: readWhole(bytes, transactionAt), lastVersion, extents };
}

export function bucketOf(key: Uint8Array): number {
  return crc32(key) % bucketCount;
}

const bucketHeadBytes = 12;
const entryHeadBytes = 16;

/**
 * The pages of a bucket. The checksum is for the simulation alone: the engine does not need one to
 * find its pages whole.
 */
export function encodeBucket(bucket: number, entries: readonly Entry[]): Buffer {
  if (entries.length === 0) return Buffer.alloc(0);
  const parts: Buffer[] = [];
  for (const { key, value, version } of entries) {
    const head = Buffer.alloc(entryHeadBytes);
    head.writeUInt32LE(key.length, 0);
    head.writeUInt32LE(value.length, 4);
    writeWhole(head, version, 8);
    parts.push(head, Buffer.from(key), Buffer.from(value));
  }
  const length = parts.reduce((sum, part) => sum + part.length, bucketHeadBytes);
  const head = Buffer.alloc(bucketHeadBytes);
  head.writeUInt32LE(bucket, 4);
  head.writeUInt32LE(length, 8);
  const bytes = Buffer.concat([head, ...parts], Math.ceil(length / pageBytes) * pageBytes);
  bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
  return bytes;
}

/** The entries of a bucket; undefined when its pages are not as they were written. */
export function decodeBucket(bucket: number, bytes: Buffer): readonly Entry[] | undefined {
  if (bytes.length === 0) return [];
  if (bytes.readUInt32LE(0) !== crc32(bytes.subarray(4))) return undefined;
  if (bytes.readUInt32LE(4) !== bucket) return undefined;
  const entries: Entry[] = [];
  const end = bytes.readUInt32LE(8);
  for (let at = bucketHeadBytes; at < end;) {
    const keyAt = at + entryHeadBytes;
    const valueAt = keyAt + bytes.readUInt32LE(at);
    const next = valueAt + bytes.readUInt32LE(at + 4);
    const [key, value] = [bytes.subarray(keyAt, valueAt), bytes.subarray(valueAt, next)];
    entries.push({ key, value, version: readWhole(bytes, at + 8) });
    at = next;
  }
  return entries;
}
