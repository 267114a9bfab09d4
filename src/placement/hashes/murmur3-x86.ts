import type { Bytes } from '../../base/bytes.js';

const first = 0xcc9e2d51;
const second = 0x1b873593;

/** MurmurHash3 (x86, 32 bits, seed 0), as published, as an unsigned number. */
export function murmur3x86(bytes: Bytes): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wholeBytes = bytes.length & ~3;
  let hash = 0;
  for (let at = 0; at < wholeBytes; at += 4) {
    hash ^= scramble(view.getInt32(at, true));
    hash = Math.imul(rotate(hash, 13), 5) + 0xe6546b64;
  }
  let tail = 0;
  for (let at = bytes.length - 1; at >= wholeBytes; at--) tail = (tail << 8) | view.getUint8(at);
  if (bytes.length > wholeBytes) hash ^= scramble(tail);
  return finish(hash ^ bytes.length);
}

function scramble(block: number): number {
  return Math.imul(rotate(Math.imul(block, first), 15), second);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

/** The finaliser: every input bit affects every output bit. */
function finish(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
