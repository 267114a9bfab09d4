import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { Crc64, crc64 } from './crc64.js';

const mask = (1n << 64n) - 1n;

/** The definition, a bit at a time. */
function bitwise(bytes: Uint8Array): string {
  let sum = mask;
  for (const byte of bytes) {
    sum ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) {
      sum = (sum & 1n) === 1n ? (sum >> 1n) ^ 0x9a6c9329ac4bc9b5n : sum >> 1n;
    }
  }
  const result = Buffer.alloc(8);
  result.writeBigUInt64LE(sum ^ mask);
  return result.toString('base64');
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

  it('goes on after a digest', () => {
    const sum = new Crc64().update(Buffer.from('1234'));
    sum.digest();
    assert.equal(sum.update(Buffer.from('56789')).digest().toString('base64'), 'iJh5CoYUi64=');
  });
});
