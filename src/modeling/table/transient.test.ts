import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemRandomness } from '../../base/randomness.js';
import { requestError } from './errors.js';
import { isTransient, retryTransient } from './transient.js';

const immediately = {
  start: <T>(_delayMs: number, callback: (argument: T) => void, argument: T) => {
    queueMicrotask(() => callback(argument));
    return { close: () => undefined };
  },
};

function sdkError(details: { readonly statusCode?: number; readonly code?: string }): Error {
  return Object.assign(new Error('as an SDK throws it'), details);
}

function retries(attemptsMax: number) {
  const backOffMs = { first: 1, last: 1 };
  return { attemptsMax, backOffMs, timers: immediately, randomness: systemRandomness };
}

describe('transient errors', () => {
  it('are those of a busy, failing or unreachable service, however wrapped', () => {
    const busy = sdkError({ statusCode: 503, code: 'ServerBusy' });
    const reset = sdkError({ code: 'ECONNRESET' });
    const unanswered = requestError('m', { status: 0, code: '', cause: reset });
    for (const error of [
      busy,
      reset,
      sdkError({ statusCode: 429 }),
      requestError('m', { status: 500, code: 'InternalError' }),
      unanswered,
      new Error('wrapped', { cause: busy }),
    ]) {
      assert.equal(isTransient(error), true, String(error));
    }
  });

  it('are no refusals and no mistakes of the program', () => {
    for (const error of [
      sdkError({ statusCode: 404, code: 'QueueNotFound' }),
      sdkError({ statusCode: 409 }),
      requestError('m', { status: 412, code: 'UpdateConditionNotSatisfied' }),
      new TypeError('undefined is not a function'),
      sdkError({ code: 'ERR_ASSERTION' }),
      'text',
    ]) {
      assert.equal(isTransient(error), false, String(error));
    }
  });

  it('are tried again until one succeeds, which is told what may have been before', async () => {
    const told: boolean[] = [];
    const answer = await retryTransient(retries(3), (maybeApplied) => {
      told.push(maybeApplied);
      if (told.length < 3) return Promise.reject(sdkError({ statusCode: 503 }));
      return Promise.resolve('answer');
    });
    assert.equal(answer, 'answer');
    assert.deepEqual(told, [false, true, true]);
  });

  it('are thrown after the last attempt, and others after the first', async () => {
    let attempts = 0;
    const failing = (statusCode: number) => () => {
      attempts += 1;
      return Promise.reject(sdkError({ statusCode }));
    };
    await assert.rejects(retryTransient(retries(3), failing(503)));
    assert.equal(attempts, 3);
    await assert.rejects(retryTransient(retries(3), failing(403)));
    assert.equal(attempts, 4);
  });
});
