import type { Bytes } from '../../../base/bytes.js';
import { viewStepBytes } from './beginning-views.js';

/** A checksum follows each value, little endian. */
export const checksumBytes = 4;

/** A record as it is read. Bytes after the key and the value are undefined. */
export interface StoredRecord {
  readonly key: Bytes;
  readonly keyLength: number;
  readonly version: number;
  /** The value, followed by its checksum. */
  readonly value: Bytes;
  readonly valueLength: number;
}

/**
 * The buffer in which records are laid out for the checksum: version as a float64, lengths of key
 * and value, key, value. Zeros pad the key to whole words and the end to whole steps. The content
 * is valid until the next call of this module. The memory belongs to the module, because compiled
 * code reads memory at a constant address much faster.
 */
export const blockBytes = 65_536;
export const block = Buffer.from(new ArrayBuffer(blockBytes + viewStepBytes));
const words = new Int32Array(block.buffer);
const doubles = new Float64Array(block.buffer);
const headBytes = 16;
/** Four words: one step of the checksum. Each record begins at a step. */
const stepBytes = 16;

const factor = 0x9e3779b1;
const firstSeed = 0x85ebca6b;

/** The value with its checksum, as stored. Valid until the next call. */
export function sealed(key: Bytes, version: number, value: Bytes): Bytes {
  const [keyLength, valueLength] = [key.length, value.length];
  const sum = checksumOf({ key, keyLength, version, value, valueLength });
  const start = valueStart(0, keyLength);
  const end = start + valueLength;
  if (end + checksumBytes <= blockBytes) {
    block.writeInt32LE(sum, end);
    return block.subarray(start, end + checksumBytes);
  }
  const target = Buffer.allocUnsafeSlow(valueLength + checksumBytes);
  target.set(value);
  target.writeInt32LE(sum, valueLength);
  return target;
}

/** True when the checksum after the value matches key, version and value. */
export function isIntact(key: Bytes, version: number, stored: Bytes): boolean {
  const valueLength = stored.length - checksumBytes;
  return isIntactRecord({ key, keyLength: key.length, version, value: stored, valueLength });
}

/** True when the checksum of the record matches its key, version and value. */
export function isIntactRecord(record: StoredRecord): boolean {
  return record.valueLength >= 0 && checksumOf(record) === storedChecksum(record);
}

/** The stored checksum. */
export function storedChecksum({ value, valueLength: at }: StoredRecord): number {
  const [a = 0, b = 0] = [value[at], value[at + 1]];
  const [c = 0, d = 0] = [value[at + 2], value[at + 3]];
  return a | (b << 8) | (c << 16) | (d << 24);
}

/** The bytes that a record takes in the buffer. */
export function laidOutBytes({ keyLength, valueLength }: StoredRecord): number {
  return valueStart(0, keyLength) + valueLength;
}

/**
 * Lays out a record at a step; the caller has checked that it fits. Returns whether its checksum
 * matches.
 */
export function layOut(record: StoredRecord, at: number): boolean {
  const { value, valueLength } = record;
  if (valueLength < 0) return false;
  const start = layOutHead(record, at);
  block.set(value, start);
  return wordSum(at, fillUp(start + valueLength), firstSeed) === storedChecksum(record);
}

/** Offsets of the parts of a record that is laid out at `at`. */
export function versionLaidOut(at: number): number {
  return doubles[at >> 3] ?? 0;
}

export function keyLaidOut(at: number): { readonly start: number; readonly end: number } {
  return { start: at + headBytes, end: at + headBytes + (words[(at >> 2) + 2] ?? 0) };
}

export function valueLaidOut(at: number): { readonly start: number; readonly end: number } {
  const start = valueStart(at, words[(at >> 2) + 2] ?? 0);
  return { start, end: start + (words[(at >> 2) + 3] ?? 0) };
}

/** The first step boundary at or after an offset. */
export function nextStep(end: number): number {
  return (end + stepBytes - 1) & -stepBytes;
}

function valueStart(at: number, keyLength: number): number {
  return (at + headBytes + keyLength + 3) & -4;
}

/** Lays out all but the value; returns the offset of the value. */
function layOutHead({ key, keyLength, version, valueLength }: StoredRecord, at: number): number {
  block.set(key, at + headBytes);
  clearRest(at + headBytes + keyLength);
  doubles[at >> 3] = version;
  words[(at >> 2) + 2] = keyLength;
  words[(at >> 2) + 3] = valueLength;
  return valueStart(at, keyLength);
}

/** A record that fits stays laid out at the start of the buffer. */
function checksumOf(record: StoredRecord): number {
  const { value, valueLength } = record;
  const start = layOutHead(record, 0);
  if (start + valueLength > blockBytes) return sumOfPieces(start, value, valueLength);
  block.set(value, start);
  return wordSum(0, fillUp(start + valueLength), firstSeed);
}

/** A longer value is summed in pieces, each seeded with the sum before. */
function sumOfPieces(start: number, value: Bytes, valueLength: number): number {
  let sum = firstSeed;
  let at = start;
  for (let done = 0; done < valueLength;) {
    const next = Math.min(valueLength, done + blockBytes - at);
    block.set(value.subarray(done, next), at);
    sum = wordSum(0, fillUp(at + next - done), sum);
    done = next;
    at = 0;
  }
  return sum;
}

/** Pads with zeros to the next step. */
function fillUp(end: number): number {
  clearRest(end);
  const next = nextStep(end);
  for (let at = (end + 3) >> 2; at < next >> 2; at += 1) words[at] = 0;
  return next;
}

/** Pads the last word with zeros. */
function clearRest(end: number): void {
  const used = end & 3;
  if (used > 0) words[end >> 2] = (words[end >> 2] ?? 0) & ((1 << (8 * used)) - 1);
}

/**
 * The checksum of the words of several steps. Each step is invertible, so a change in a single word
 * is always detected; other changes are missed once in four thousand million. Four independent
 * sums, because a processor computes them in parallel. The rotation returns bits that a
 * multiplication shifts up.
 */
function wordSum(from: number, to: number, seed: number): number {
  let [a, b, c, d] = [seed | 0, seed ^ factor, ~seed, ~seed ^ factor];
  const end = to >> 2;
  for (let at = from >> 2; at < end; at += 4) {
    a = Math.imul(((a << 15) | (a >>> 17)) ^ (words[at] ?? 0), factor);
    b = Math.imul(((b << 15) | (b >>> 17)) ^ (words[at + 1] ?? 0), factor);
    c = Math.imul(((c << 15) | (c >>> 17)) ^ (words[at + 2] ?? 0), factor);
    d = Math.imul(((d << 15) | (d >>> 17)) ^ (words[at + 3] ?? 0), factor);
  }
  return mixed(mixed(mixed(mixed(a) ^ b) ^ c) ^ d);
}

/** A bijection that spreads each of the 32 bits upwards and downwards. */
function mixed(word: number): number {
  const product = Math.imul(word, factor);
  return product ^ (product >>> 15);
}
