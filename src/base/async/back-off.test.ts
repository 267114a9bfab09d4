import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { backOff, doubledDelay } from './back-off.js';

const constant = (byte: number) => ({
  bytes: (count: number) => new Uint8Array(count).fill(byte),
  uuid: () => '',
});

describe('back-off', () => {
  it('doubles from the first wait to the last, halved at most by chance', () => {
    const waits = [1, 2, 3, 4, 5, 6].map((failures) =>
      backOff({ first: 100, last: 1000 }, failures, constant(0)),
    );
    assert.deepEqual(waits, [50, 100, 200, 400, 500, 500]);
  });

  it('stays within its bounds for any number of failures and any chance', () => {
    fc.assert(
      fc.property(fc.nat({ max: 255 }), fc.nat(), fc.nat(5000), (byte, failures, first) => {
        const wait = backOff({ first, last: first + 1000 }, failures, constant(byte));
        assert.ok(wait >= first / 2 && wait <= first + 1000);
      }),
    );
  });

  it('doubles from the first to the last delay, where no randomness is wanted', () => {
    const delays = [1, 2, 3, 4, 5, 1_000].map((failures) =>
      doubledDelay({ first: 100, last: 500 }, failures),
    );
    assert.deepEqual(delays, [100, 200, 400, 500, 500, 500]);
  });
});
