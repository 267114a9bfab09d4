import { murmur3x86 } from './murmur3-x86.js';

const encoder = new TextEncoder();

/**
 * MurmurHash3 (x86, 32 bits, seed 0) of the UTF-8 bytes of a text, as an unsigned number. The
 * placement of stored rows depends on it, so it never changes; other languages have the same
 * published algorithm. Lone surrogates count as U+FFFD.
 */
export function hash32(text: string): number {
  return murmur3x86(encoder.encode(text));
}

/**
 * The bucket of a text among `count` buckets, 0 to count − 1: `hash32(text)` modulo `count`.
 * Another count moves almost every text to another bucket. A `count` that is no whole number from 1
 * on counts as 1, which gives bucket 0.
 */
export function bucketOf(text: string, count: number): number {
  return Number.isSafeInteger(count) && count >= 1 ? hash32(text) % count : 0;
}
