import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { byLength } from '../../../test/support/run-length.js';
import { distances, foldedMin, roomBytes } from './crc64-program.js';
import { Crc64, crc64 } from './crc64.js';

const mask = (1n << 64n) - 1n;
const polynomial = 0x9a6c9329ac4bc9b5n;

/** The definition, a bit at a time. */
function bitwise(bytes: Uint8Array): string {
  let sum = mask;
  for (const byte of bytes) {
    sum ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) {
      sum = (sum & 1n) === 1n ? (sum >> 1n) ^ polynomial : sum >> 1n;
    }
  }
  const result = Buffer.alloc(8);
  result.writeBigUInt64LE(sum ^ mask);
  return result.toString('base64');
}

/** The sum of bytes by tables alone, which take what is too short to be folded. */
function byTables(bytes: Uint8Array): string {
  const sum = new Crc64();
  for (let at = 0; at < bytes.length; at += foldedMin - 1) {
    sum.update(bytes.subarray(at, at + foldedMin - 1));
  }
  return sum.digest().toString('base64');
}

/** Bytes that repeat nothing within the distances of folding. */
function mixed(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed | 1;
  for (let at = 0; at < length; at += 1) {
    state = Math.imul(state, 0x2c9277b5) + 0x6d2b79f5;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

describe('CRC-64', () => {
  it('has the values of the protocol', () => {
    for (const [text, sum] of [
      ['123456789', 'iJh5CoYUi64='],
      ['', 'AAAAAAAAAAA='],
      ['A', 'PiO3pTJ67n0='],
      ['Hello World', 'YeJLfssylmU='],
    ] as const) {
      assert.equal(crc64(Buffer.from(text)).toString('base64'), sum);
    }
    assert.equal(crc64(Buffer.from('123456789')).readBigUInt64LE(), 0xae8b14860a799888n);
  });

  it('is that of the definition, wherever the bytes begin and however they are cut', () => {
    const bytes = fc.uint8Array({ maxLength: 100 });
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 5 }), fc.nat({ max: 8 }), (pieces, offset) => {
        const sum = new Crc64();
        for (const piece of pieces) {
          const memory = Buffer.alloc(offset + piece.length);
          memory.set(piece, offset);
          sum.update(memory.subarray(offset));
        }
        assert.equal(sum.digest().toString('base64'), bitwise(Buffer.concat(pieces)));
      }),
    );
  });

  it('is that of the definition where bytes are folded', () => {
    for (let length = foldedMin - 2; length < foldedMin + 140; length += 7) {
      const bytes = mixed(length, length);
      assert.equal(crc64(bytes).toString('base64'), bitwise(bytes), `${length} bytes`);
    }
  });

  it('is the same whether bytes are folded or not, whatever their number', () => {
    const length = fc.oneof(
      fc.integer({ min: foldedMin, max: 3 * foldedMin }),
      fc.integer({ min: roomBytes - 100, max: roomBytes + 2 * foldedMin }),
    );
    const places = fc.array(fc.nat({ max: roomBytes + 2 * foldedMin }), { maxLength: 4 });
    const model = fc.property(length, fc.integer(), places, (bytes, seed, cuts) => {
      const whole = mixed(bytes, seed);
      const inOrder = [0, ...cuts.filter((cut) => cut < bytes), bytes].toSorted((a, b) => a - b);
      const sum = new Crc64();
      for (const [index, end] of inOrder.entries()) {
        sum.update(whole.subarray(inOrder[index - 1] ?? 0, end));
      }
      assert.equal(sum.digest().toString('base64'), byTables(whole));
    });
    fc.assert(model, { numRuns: byLength({ short: 50, long: 5_000 }) });
  });

  it('is folded over distances whose powers of x have the sum 1', () => {
    /** Divides by x; the highest bit is that of its power 0. */
    const divided = (value: bigint): bigint =>
      value >> 63n === 1n ? ((value ^ polynomial) << 1n) | 1n : value << 1n;
    const one = 1n << 63n;
    let power = one;
    let sum = 0n;
    for (let distance = 1; distance <= Math.max(...distances); distance += 1) {
      for (let bit = 0; bit < 8; bit += 1) power = divided(power) & mask;
      if (distances.some((each) => each === distance)) sum ^= power;
    }
    assert.equal(sum, one);
  });

  it('goes on after a digest', () => {
    const sum = new Crc64().update(Buffer.from('1234'));
    sum.digest();
    assert.equal(sum.update(Buffer.from('56789')).digest().toString('base64'), 'iJh5CoYUi64=');
  });
});
