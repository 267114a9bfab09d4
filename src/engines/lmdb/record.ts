import { crc32 } from 'node:zlib';
import type { Bytes } from '../../base/bytes.js';

/** Behind each value stands its checksum, little endian. */
export const checksumBytes = 4;

const highStep = 0x1_0000_0000;
const prime = 0x01000193;
const [factorA, factorB] = [0x9e3779b1, 0x85ebca6b];
/** Longer values are summed by the system: for short ones the call takes longer than the sum. */
const wordSumBytesMax = 4_096;
const scratchBytes = wordSumBytesMax + 2 * checksumBytes;

/** Memory that begins at a word, so that it can be read by words. */
export interface WordBytes {
  readonly bytes: Buffer;
  readonly words: Int32Array;
}

/** Undefined where the bytes do not begin at a word. */
export function wordBytesOf(bytes: Buffer): WordBytes | undefined {
  if (bytes.byteOffset % 4 !== 0) return undefined;
  return { bytes, words: new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2) };
}

function newScratch(): WordBytes {
  const bytes = Buffer.from(new ArrayBuffer(scratchBytes));
  return { bytes, words: new Int32Array(bytes.buffer) };
}

const scratch = newScratch();

/** The value with its checksum, as it is stored. Valid until the next call. */
export function sealed(key: Bytes, version: number, value: Bytes): Bytes {
  const { length } = value;
  const isShort = length <= wordSumBytesMax;
  const target = isShort ? scratch.bytes : Buffer.allocUnsafeSlow(length + checksumBytes);
  target.set(value);
  const seed = seedOf(key, key.length, version);
  target.writeInt32LE(
    isShort ? wordSum(scratch.words, length, seed) : crc32(value, seed) | 0,
    length,
  );
  return target.subarray(0, length + checksumBytes);
}

/** Whether key, version and value are those for which the checksum behind the value was made. */
export function isIntact(key: Bytes, version: number, stored: Bytes): boolean {
  const length = stored.length - checksumBytes;
  if (length < 0) return false;
  if (length <= wordSumBytesMax) {
    scratch.bytes.set(stored);
    return isIntactThere(scratch, length, seedOf(key, key.length, version));
  }
  const seed = seedOf(key, key.length, version);
  return (crc32(stored.subarray(0, length), seed) | 0) === checksumAt(stored, length);
}

/** As `isIntact`, without a copy: the value stands at the beginning, its checksum behind it. */
export function isIntactThere({ bytes, words }: WordBytes, length: number, seed: number): boolean {
  const sum =
    length <= wordSumBytesMax
      ? wordSum(words, length, seed)
      : crc32(bytes.subarray(0, length), seed) | 0;
  return sum === checksumAt(bytes, length);
}

function checksumAt(bytes: Bytes, at: number): number {
  const [a = 0, b = 0] = [bytes[at], bytes[at + 1]];
  const [c = 0, d = 0] = [bytes[at + 2], bytes[at + 3]];
  return a | (b << 8) | (c << 16) | (d << 24);
}

/** Key and version in 32 bits. */
export function seedOf(key: Bytes, keyLength: number, version: number): number {
  let seed = Math.imul(version ^ Math.floor(version / highStep), prime) ^ keyLength;
  for (let at = 0; at < keyLength; at += 1) seed = Math.imul(seed ^ (key[at] ?? 0), prime);
  return (seed ^ (seed >>> 15)) >>> 0;
}

/**
 * A sum over the first `length` bytes. Each step can be undone, so a change in a single word always
 * shows; others go unnoticed once in four thousand million. Four sums side by side, because a
 * processor computes them at once.
 */
function wordSum(words: Int32Array, length: number, seed: number): number {
  const whole = length >> 2;
  let [a, b, c, d] = [seed | 0, seed ^ length, seed ^ factorA, seed ^ factorB];
  let at = 0;
  for (; at + 3 < whole; at += 4) {
    a = mixed(a ^ (words[at] ?? 0));
    b = mixed(b ^ (words[at + 1] ?? 0));
    c = mixed(c ^ (words[at + 2] ?? 0));
    d = mixed(d ^ (words[at + 3] ?? 0));
  }
  for (; at < whole; at += 1) a = mixed(a ^ (words[at] ?? 0));
  const rest = length & 3;
  if (rest > 0) b = mixed(b ^ ((words[whole] ?? 0) & ((1 << (8 * rest)) - 1)));
  return mixed(mixed(mixed(mixed(a) ^ b) ^ c) ^ d);
}

/** Each of the 32 bits goes into those above and below; no two words give the same. */
function mixed(word: number): number {
  const product = Math.imul(word, factorA);
  return product ^ (product >>> 15);
}
