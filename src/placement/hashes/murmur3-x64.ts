import type { Bytes } from '../../base/bytes.js';

const first = 0x87c37b91114253d5n;
const second = 0x4cf5ad432745937fn;

/** MurmurHash3 (x64, 128 bits, seed 0), as published: two unsigned numbers of 64 bits. */
export function murmur3x64(bytes: Bytes): readonly [bigint, bigint] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wholeBytes = bytes.length & ~15;
  let low = 0n;
  let high = 0n;
  for (let at = 0; at < wholeBytes; at += 16) {
    low ^= scrambleLow(view.getBigUint64(at, true));
    low = whole((rotate(low, 27n) + high) * 5n + 0x52dce729n);
    high ^= scrambleHigh(view.getBigUint64(at + 8, true));
    high = whole((rotate(high, 31n) + low) * 5n + 0x38495ab5n);
  }
  const tail = new DataView(new ArrayBuffer(16));
  for (let at = wholeBytes; at < bytes.length; at++) {
    tail.setUint8(at - wholeBytes, view.getUint8(at));
  }
  high ^= scrambleHigh(tail.getBigUint64(8, true));
  low ^= scrambleLow(tail.getBigUint64(0, true));
  return finish(low ^ BigInt(bytes.length), high ^ BigInt(bytes.length));
}

function finish(low: bigint, high: bigint): readonly [bigint, bigint] {
  const sum = whole(low + high);
  const left = avalanche(sum);
  const right = avalanche(whole(high + sum));
  const total = whole(left + right);
  return [total, whole(right + total)];
}

function scrambleLow(block: bigint): bigint {
  return whole(rotate(whole(block * first), 31n) * second);
}

function scrambleHigh(block: bigint): bigint {
  return whole(rotate(whole(block * second), 33n) * first);
}

function rotate(value: bigint, bits: bigint): bigint {
  return whole(value << bits) | (value >> (64n - bits));
}

/** Every input bit affects every output bit. */
function avalanche(value: bigint): bigint {
  let mixed = whole((value ^ (value >> 33n)) * 0xff51afd7ed558ccdn);
  mixed = whole((mixed ^ (mixed >> 33n)) * 0xc4ceb9fe1a85ec53n);
  return mixed ^ (mixed >> 33n);
}

function whole(value: bigint): bigint {
  return BigInt.asUintN(64, value);
}
