import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { systemRandomness } from '../../base/randomness.js';
import { StoreUnavailableError } from '../../kv/errors.js';
import { PeriodicWork } from './periodic-work.js';

const hourMs = 3_600_000;

it('work of each hour is tried again within seconds where no database is found', async () => {
  const timers = manualTimers();
  const refused: unknown[] = [];
  const work = new PeriodicWork({
    source: {
      retries: { backOffMs: { first: 1, last: 1 }, timers, randomness: systemRandomness },
      connect: () => Promise.reject(new StoreUnavailableError('nobody answers')),
    },
    timers,
    pauseMs: hourMs,
    work: () => Promise.resolve(),
    keepsConnection: false,
    onRefused: (error) => refused.push(error),
  });
  timers.fire();
  await turn();
  timers.fire();
  await turn();
  assert.deepEqual(timers.delays, [hourMs, 10_000, 10_000]);
  assert.deepEqual(refused, []);
  await work.close();
  assert.equal(timers.waiting, 0);
});
