import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { byLength, costly } from '../support/run-length.js';
import { systemClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { temporaryLocation } from '../support/engine-lmdb.js';
import {
  workAccount,
  workOnQueue,
  workQueue,
  type WorkOutcome,
} from '../support/queue-process-work.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';

const child = fileURLToPath(new URL('../support/queue-process-child.js', import.meta.url));
const seed = seedSetting('TABULARIUM_SIM_SEED');
const messagesPerProcess = numberSetting(
  'TABULARIUM_SIM_MESSAGES',
  byLength({ short: 100, long: 2000 }),
);
const otherProcesses = 3;

async function workElsewhere(directory: string, childSeed: number): Promise<WorkOutcome> {
  const forked = fork(child, [directory, String(childSeed), String(messagesPerProcess)]);
  const outcome = once(forked, 'message') as Promise<[WorkOutcome]>;
  const died = once(forked, 'exit').then(([code]) => {
    throw new Error(`the process ended with ${code} before it was done`);
  });
  died.catch(() => undefined);
  const [told] = await Promise.race([outcome, died]);
  forked.send('read');
  await once(forked, 'exit');
  return told;
}

/**
 * Checks that every message was delivered once for each time it was visible, and finally deleted.
 */
function assertEachDelivered(outcomes: readonly WorkOutcome[]): void {
  const put = outcomes.flatMap((outcome) => outcome.put);
  assert.equal(new Set(put).size, put.length, 'ids that came twice');
  const deleted = outcomes.flatMap((outcome) => outcome.deleted);
  assert.deepEqual(deleted.toSorted(byText), put.toSorted(byText));
  const counts = new Map<string, number[]>();
  for (const { id, dequeueCount } of outcomes.flatMap(({ deliveries }) => deliveries)) {
    counts.set(id, [...(counts.get(id) ?? []), dequeueCount]);
  }
  for (const [id, found] of counts) {
    const expected = found.map((_, index) => index + 1);
    assert.deepEqual(
      found.toSorted((left, right) => left - right),
      expected,
      id,
    );
  }
}

function byText(left: string, right: string): number {
  return left < right ? -1 : 1;
}

it(
  `hands each message to one of several processes on one data directory (seed ${seed})`,
  costly(),
  async (t) => {
    const { directory, remove } = await temporaryLocation();
    const store = await openLmdbStore({ directory, clock: systemClock });
    const service = new QueueService({
      store,
      clock: forwardClock(systemClock),
      randomness: systemRandomness,
    });
    try {
      await service.createQueue(workAccount, workQueue, []);
      const ended = await Promise.allSettled([
        workOnQueue(service, new SimRandom(seed), messagesPerProcess),
        ...Array.from({ length: otherProcesses }, (_, index) =>
          workElsewhere(directory, seed + index + 1),
        ),
      ]);
      // Of those that others hold up, each fails: what every process has done tells which one did.
      const failures = ended.flatMap((each, index) =>
        each.status === 'rejected' ? [`process ${index}: ${String(each.reason)}`] : [],
      );
      assert.deepEqual(failures, []);
      const outcomes = ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      assertEachDelivered(outcomes);
      for (const { put, deliveries } of outcomes) {
        t.diagnostic(`${put.length} put, ${deliveries.length} taken`);
        assert.ok(deliveries.length > 0, 'every process had its share');
      }
      const { approximateMessageCount } = await service.getQueue(workAccount, workQueue);
      assert.equal(approximateMessageCount, 0);
    } finally {
      await store.close();
      await remove();
    }
  },
);
