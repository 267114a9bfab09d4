const blockUnits = 12;

/** The three words that the hash mixes. */
interface Words {
  a: number;
  b: number;
  c: number;
}

/**
 * Jenkins' lookup3 (`hashlittle2`) with both seeds 0, as published: two signed numbers of 32 bits,
 * of which `c` is the better one. Units beyond a byte carry into the next ones, as in programs that
 * pass characters instead of bytes.
 */
export function lookup3(units: ArrayLike<number>): { readonly b: number; readonly c: number } {
  const start = (0xdeadbeef + units.length) | 0;
  const words: Words = { a: start, b: start, c: start };
  let at = 0;
  for (; units.length - at > blockUnits; at += blockUnits) {
    add(words, units, at);
    mix(words);
  }
  if (at < units.length) {
    add(words, units, at);
    finish(words);
  }
  const { b, c } = words;
  return { b, c };
}

/** Adds the 12 units from `at` on; those that lack count as 0. */
function add(words: Words, units: ArrayLike<number>, at: number): void {
  words.a = (words.a + wordOf(units, at)) | 0;
  words.b = (words.b + wordOf(units, at + 4)) | 0;
  words.c = (words.c + wordOf(units, at + 8)) | 0;
}

function wordOf(units: ArrayLike<number>, at: number): number {
  const unit = (index: number): number => units[at + index] ?? 0;
  return (unit(0) + (unit(1) << 8) + (unit(2) << 16) + (unit(3) << 24)) | 0;
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
