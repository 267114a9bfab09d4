import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { InvariantError } from '../base/invariant.js';
import { addToCounter, decodeCounter, encodeCounter } from './counter.js';

const edges = [0, 1, 255, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 32 + 1, 2 ** 53 - 1];

describe('counter', () => {
  it('is 8 bytes of two’s complement, big endian', () => {
    const counters = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(...edges, ...edges.map(negate)));
    fc.assert(
      fc.property(counters, (counter) => {
        const expected = Buffer.alloc(8);
        expected.writeBigInt64BE(BigInt(counter));
        assert.deepEqual(encodeCounter(counter), expected);
        assert.equal(decodeCounter(expected), counter);
      }),
    );
  });

  it('adds, beginning at 0 and going below it', () => {
    const counters = fc.integer({ min: -(2 ** 52), max: 2 ** 52 - 1 });
    fc.assert(
      fc.property(counters, counters, (first, second) => {
        const sum = addToCounter(addToCounter(undefined, first), second);
        assert.equal(decodeCounter(sum), first + second);
      }),
    );
  });

  it('is not read from what is no counter, and does not leave the safe integers', () => {
    for (const hex of ['', '00', '000000000000000000', '7fffffffffffffff', '8000000000000000']) {
      assert.throws(() => decodeCounter(Buffer.from(hex, 'hex')), InvariantError, hex);
    }
    for (const value of [0.5, Number.NaN, 2 ** 53]) {
      assert.throws(() => encodeCounter(value), InvariantError, `${value}`);
    }
    const largest = encodeCounter(Number.MAX_SAFE_INTEGER);
    assert.throws(() => addToCounter(largest, 1), InvariantError);
  });
});

function negate(counter: number): number {
  return 0 - counter;
}
