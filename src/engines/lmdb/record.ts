import { crc32 } from 'node:zlib';
import type { Bytes } from '../../base/bytes.js';

/** Behind each value stands its checksum, little endian. */
export const checksumBytes = 4;

const highStep = 0x1_0000_0000;
const prime = 0x01000193;
/** Larger values get memory of their own while they are written. */
const scratchBytes = 1 << 16;

const scratch = Buffer.allocUnsafeSlow(scratchBytes);

/**
 * What a value must have behind it: a checksum over itself, its key and its version, so that a
 * value under a key or with a version that is not its own shows as well.
 */
export function checksumOf(key: Bytes, version: number, value: Bytes): number {
  return crc32(value, seedOf(key, key.length, version));
}

/** The value with its checksum, as it is stored. Valid until the next call. */
export function sealed(key: Bytes, version: number, value: Bytes): Bytes {
  const length = value.length + checksumBytes;
  if (length > scratchBytes) return seal(Buffer.allocUnsafeSlow(length), key, version, value);
  return seal(scratch, key, version, value).subarray(0, length);
}

function seal(into: Buffer, key: Bytes, version: number, value: Bytes): Buffer {
  into.set(value);
  into.writeUInt32LE(checksumOf(key, version, value), value.length);
  return into;
}

/** Whether the checksum behind `valueLength` bytes is that of the value. */
export function isIntact(key: Bytes, version: number, stored: Bytes): boolean {
  const length = stored.length - checksumBytes;
  if (length < 0) return false;
  return checksumOf(key, version, stored.subarray(0, length)) === checksumAt(stored, length);
}

export function checksumAt(bytes: Bytes, at: number): number {
  const [a = 0, b = 0, c = 0, d = 0] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
}

/** Key and version in 32 bits. In JavaScript: a call of the system's checksum costs more. */
export function seedOf(key: Bytes, keyLength: number, version: number): number {
  let seed = Math.imul(version ^ Math.floor(version / highStep), prime) ^ keyLength;
  for (let at = 0; at < keyLength; at += 1) seed = Math.imul(seed ^ (key[at] ?? 0), prime);
  return (seed ^ (seed >>> 15)) >>> 0;
}
