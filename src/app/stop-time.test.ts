import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contentCloseMs } from '../content/content-store.js';
import { defaultLimits } from '../http/pipeline/limits.js';
import { stopMsMax, stopStepsMs, workerStopMsMax } from './stop-time.js';

/** How long a store waits for its disk when it closes. */
const storeCloseMs = 10_000;

describe('the time of a stop', () => {
  it('is enough for the store when requests and every other step hold it up', () => {
    const beforeStoreMs = defaultLimits.closeTimeoutMs + stopStepsMs;
    assert.ok(beforeStoreMs + storeCloseMs + contentCloseMs < stopMsMax({}));
    assert.ok(beforeStoreMs < workerStopMsMax({}));
    assert.ok(workerStopMsMax({}) + stopStepsMs < stopMsMax({}), 'workers stop before the owner');
  });

  it('grows with the time of requests in flight, of the service that waits longest', () => {
    const longer = { closeTimeoutMs: defaultLimits.closeTimeoutMs + 30_000 };
    const shorter = { closeTimeoutMs: 1 };
    for (const most of [stopMsMax, workerStopMsMax]) {
      assert.equal(most({ limits: longer }), most({}) + 30_000);
      assert.equal(most({ limits: shorter, queueLimits: longer }), most({}) + 30_000);
      assert.equal(most({ limits: longer, queueLimits: shorter }), most({}) + 30_000);
    }
  });
});
