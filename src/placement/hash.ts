import type { Bytes } from '../base/bytes.js';

const encoder = new TextEncoder();

/**
 * MurmurHash3 (x86, 32 bits, seed 0) of the UTF-8 bytes of a text, as an unsigned number. The
 * placement of stored rows depends on it, so it never changes; other languages have the same
 * published algorithm. Lone surrogates count as U+FFFD.
 */
export function hash32(text: string): number {
  return murmur3(encoder.encode(text));
}

/**
 * The bucket of a text among `count` buckets, 0 to count − 1: `hash32(text)` modulo `count`.
 * `count` is a positive integer. Another count moves almost every text to another bucket.
 */
export function bucketOf(text: string, count: number): number {
  return hash32(text) % count;
}

const first = 0xcc9e2d51;
const second = 0x1b873593;

function murmur3(bytes: Bytes): number {
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
