import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { byLength, costly } from '../support/run-length.js';
import { manualClock, type ManualClock } from '../../src/base/clock.js';
import type { QueueService } from '../../src/services/queues/queue-service.js';
import { queueServices } from '../support/queue-services.js';
import { withRandomPauses } from '../support/random-pauses.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { reopenableStore, type EngineName } from '../support/stores.js';
import type { RaceLog } from './queue-race-log.js';
import { race, raceAccount, raceQueue } from './queue-races.js';

// How to repeat a failure and how to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_SIM_SEED');
const races = numberSetting('TABULARIUM_SIM_RACES', byLength({ short: 1, long: 30 }));
const workers = 24;
const operationsPerWorker = 60;
const minuteMicros = 60_000_000;

/** After every timeout each surviving message must be delivered once more, and no other. */
async function assertLeftOver(log: RaceLog, service: QueueService, clock: ManualClock) {
  const { violations, survivors } = log.explain();
  assert.deepEqual(violations.slice(0, 5), []);
  clock.advanceMicros(minuteMicros);
  const now = clock.nowMicros();
  const expected = survivors.filter(({ expiresMicros }) => expiresMicros > now);
  const { approximateMessageCount } = await service.getQueue(raceAccount, raceQueue);
  assert.equal(approximateMessageCount, expected.length);
  const counts = new Map<string, number>();
  for (;;) {
    const options = { count: 32, visibilitySeconds: 3600 };
    const messages = await service.getMessages(raceAccount, raceQueue, options);
    if (messages.length === 0) break;
    for (const { id, dequeueCount } of messages) {
      assert.equal(counts.get(id), undefined, `${id} came twice`);
      counts.set(id, dequeueCount);
    }
  }
  assert.deepEqual(
    [...counts].toSorted(byId),
    expected.map(({ id, dequeueCount }): [string, number] => [id, dequeueCount + 1]).toSorted(byId),
  );
}

function byId([left]: [string, number], [right]: [string, number]): number {
  return left < right ? -1 : 1;
}

/** Runs races with this many services over one store, each on a new queue with its own seed. */
async function raceOften(
  t: TestContext,
  engineName: EngineName,
  settings: { readonly services: number; readonly skewMicros?: number },
): Promise<void> {
  const { skewMicros = 0 } = settings;
  const totals = new Map<string, number>();
  for (let round = 0; round < races; round += 1) {
    const random = new SimRandom(seed + round);
    const clock = manualClock(1_700_000_000_123_457 + random.int(1_000_000));
    await using engine = await reopenableStore[engineName](clock);
    const store = withRandomPauses(engine.store(), random);
    const parts = { store, clock, randomness: random, skewMicros };
    const services = queueServices(settings.services, parts);
    const [first] = services;
    assert.ok(first !== undefined);
    try {
      await first.createQueue(raceAccount, raceQueue, []);
      const log = await race({ services, clock, random, workers, operationsPerWorker, skewMicros });
      await assertLeftOver(log, first, clock);
      for (const [name, count] of Object.entries(log.totals())) {
        totals.set(name, (totals.get(name) ?? 0) + count);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const repeat = `Repeat with TABULARIUM_SIM_SEED=${seed + round} TABULARIUM_SIM_RACES=1`;
      throw new Error(`${repeat}\n${reason}`, { cause: error });
    }
  }
  t.diagnostic([...totals].map(([name, count]) => `${count} ${name}`).join(', '));
  for (const [name, count] of totals) assert.ok(count > 0, `no ${name}: this was no race`);
}

it(`gives each message to one of many workers of one process (seed ${seed})`, costly(), (t) =>
  raceOften(t, 'memory', { services: 1 }),
);

it(`gives each message to one of many workers of several services (seed ${seed})`, costly(), (t) =>
  raceOften(t, 'memory', { services: 4 }),
);

it(`gives each message to one of many workers on LMDB (seed ${seed})`, costly(), (t) =>
  raceOften(t, 'lmdb', { services: 3 }),
);

it(`gives each message to one of many workers while clocks differ (seed ${seed})`, costly(), (t) =>
  raceOften(t, 'memory', { services: 4, skewMicros: 1_500_000 }),
);
