import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failsWith } from '../../../test/support/table-services.js';
import { overtaken, untilCommitted } from './until-committed.js';

describe('untilCommitted', () => {
  it('gives the first result that is not overtaken, undefined too', async () => {
    const results = [overtaken, overtaken, undefined, 'late'];
    assert.equal(await untilCommitted(4, async () => results.shift()), undefined);
    assert.deepEqual(results, ['late']);
  });

  it('throws ServerBusy after its attempts, and at once what an attempt throws', async () => {
    let attempts = 0;
    const losing = untilCommitted(3, async () => {
      attempts += 1;
      return overtaken;
    });
    await assert.rejects(losing, failsWith('ServerBusy'));
    assert.equal(attempts, 3);
    const error = new Error('defect');
    await assert.rejects(
      untilCommitted(3, () => Promise.reject(error)),
      error,
    );
  });
});
