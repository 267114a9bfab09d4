import type { Bytes } from '../../base/bytes.js';

/**
 * FNV-1 of 64 bits, as published, as an unsigned number. Not FNV-1a, which takes the two steps in
 * the other order.
 */
export function fnv1of64(bytes: Bytes): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of bytes) hash = BigInt.asUintN(64, hash * 0x100000001b3n) ^ BigInt(byte);
  return hash;
}

/** FNV-1 of 32 bits, as published, as an unsigned number. */
export function fnv1of32(bytes: Bytes): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash, 0x01000193) ^ byte;
  return hash >>> 0;
}
