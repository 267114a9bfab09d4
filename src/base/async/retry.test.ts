import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { immediateTimers } from '../../../test/support/quick-timers.js';
import { systemRandomness } from '../randomness.js';
import { retry, type RetryOptions } from './retry.js';
import type { Timers } from './timers.js';

const passing = new Error('passing');
const lasting = new Error('lasting');

function optionsWith(timers: Timers, others: Partial<RetryOptions> = {}): RetryOptions {
  const isRetryable = (error: unknown): boolean => error === passing;
  const backOffMs = { first: 10, last: 40 };
  return {
    attemptsMax: 4,
    backOffMs,
    timers,
    randomness: systemRandomness,
    isRetryable,
    ...others,
  };
}

describe('retry', () => {
  it('gives what the first attempt gives that succeeds, and delays longer each time', async () => {
    const { timers, delays } = immediateTimers();
    const counts: number[] = [];
    const found = await retry(optionsWith(timers), (count) => {
      counts.push(count);
      return count < 4 ? Promise.reject(passing) : Promise.resolve('found');
    });
    assert.equal(found, 'found');
    assert.deepEqual(counts, [1, 2, 3, 4]);
    assert.deepEqual(
      delays.map((wait, index) => wait >= 5 * 2 ** index && wait <= 10 * 2 ** index),
      [true, true, true],
    );
  });

  it('throws the error of the last attempt, and tells of those before', async () => {
    const told: unknown[] = [];
    const { timers } = immediateTimers();
    const options = optionsWith(timers, { onRetry: (error) => told.push(error) });
    await assert.rejects(
      retry(options, () => Promise.reject(passing)),
      passing,
    );
    assert.deepEqual(told, [passing, passing, passing]);
  });

  it('throws at once what no other attempt mends', async () => {
    const { timers, delays } = immediateTimers();
    await assert.rejects(
      retry(optionsWith(timers), () => Promise.reject(lasting)),
      lasting,
    );
    assert.deepEqual(delays, []);
  });

  it('begins no attempt after the signal was aborted in a wait', async () => {
    const abort = new AbortController();
    const { timers } = immediateTimers();
    const attempts: number[] = [];
    const options = optionsWith(timers, { signal: abort.signal, onRetry: () => abort.abort() });
    const attempt = (count: number): Promise<never> => {
      attempts.push(count);
      return Promise.reject(passing);
    };
    await assert.rejects(retry(options, attempt), passing);
    assert.deepEqual(attempts, [1]);
  });
});
