import type { Bytes } from '../../base/bytes.js';

const blockBytes = 12;

/** The three words that the hash mixes. */
interface Words {
  a: number;
  b: number;
  c: number;
}

/**
 * Jenkins' lookup3 (`hashlittle2`) with both seeds 0, as published: two signed numbers of 32 bits,
 * of which `c` is the better one.
 */
export function lookup3(bytes: Bytes): { readonly b: number; readonly c: number } {
  const start = (0xdeadbeef + bytes.length) | 0;
  const words: Words = { a: start, b: start, c: start };
  let at = 0;
  for (; bytes.length - at > blockBytes; at += blockBytes) {
    add(words, bytes.subarray(at, at + blockBytes));
    mix(words);
  }
  if (at < bytes.length) {
    add(words, bytes.subarray(at));
    finish(words);
  }
  const { b, c } = words;
  return { b, c };
}

/** Adds up to 12 bytes; those that lack count as 0. */
function add(words: Words, bytes: Bytes): void {
  words.a = (words.a + wordOf(bytes, 0)) | 0;
  words.b = (words.b + wordOf(bytes, 4)) | 0;
  words.c = (words.c + wordOf(bytes, 8)) | 0;
}

function wordOf(bytes: Bytes, at: number): number {
  const byte = (index: number): number => bytes[at + index] ?? 0;
  return byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24);
}

function mix(words: Words): void {
  let { a, b, c } = words;
  a = (a - c) ^ rotate(c, 4);
  c = (c + b) | 0;
  b = (b - a) ^ rotate(a, 6);
  a = (a + c) | 0;
  c = (c - b) ^ rotate(b, 8);
  b = (b + a) | 0;
  a = (a - c) ^ rotate(c, 16);
  c = (c + b) | 0;
  b = (b - a) ^ rotate(a, 19);
  a = (a + c) | 0;
  c = (c - b) ^ rotate(b, 4);
  b = (b + a) | 0;
  Object.assign(words, { a, b, c });
}

function finish(words: Words): void {
  let { a, b, c } = words;
  c = ((c ^ b) - rotate(b, 14)) | 0;
  a = ((a ^ c) - rotate(c, 11)) | 0;
  b = ((b ^ a) - rotate(a, 25)) | 0;
  c = ((c ^ b) - rotate(b, 16)) | 0;
  a = ((a ^ c) - rotate(c, 4)) | 0;
  b = ((b ^ a) - rotate(a, 14)) | 0;
  c = ((c ^ b) - rotate(b, 24)) | 0;
  Object.assign(words, { a, b, c });
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
