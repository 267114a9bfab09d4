import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { byLength, costly } from '../support/run-length.js';
import { createServer } from '../../src/app/index.js';
import { manualClock } from '../../src/base/clock.js';
import type { Store } from '../../src/kv/store.js';
import type { QueueService } from '../../src/services/queues/queue-service.js';
import { queueServices } from '../support/queue-services.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { engineNames, reopenableStore } from '../support/stores.js';
import { shownMicros, WireQueues } from '../support/wire-queues.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';
import { simulateQueues, type QueueSimulation } from './queue-simulation.js';
import { accounts, type QueueWorld } from './queue-world.js';

// How to repeat a failure and how to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_SIM_SEED');
const stepsOverHttp = numberSetting('TABULARIUM_SIM_STEPS', byLength({ short: 400, long: 8000 }));
const stepsInProcess = numberSetting(
  'TABULARIUM_SIM_STEPS',
  byLength({ short: 1500, long: 30_000 }),
);

const startMicros = 1_700_000_000_123_457;
const daySeconds = 24 * 3600;
const reclaimStepsMax = 100_000;

async function seeded(t: TestContext, simulation: QueueSimulation): Promise<QueueWorld> {
  try {
    const world = await simulateQueues(simulation);
    const total = (kind: RegExp) =>
      [...world.outcomes].reduce((sum, [key, count]) => (kind.test(key) ? sum + count : sum), 0);
    t.diagnostic(`${total(/ done$/)} operations done, ${total(/(?<! done)$/)} refused`);
    return world;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Repeat with TABULARIUM_SIM_SEED=${seed} TABULARIUM_SIM_STEPS=${simulation.steps}\n${reason}`,
      { cause: error },
    );
  }
}

async function countEntries(store: Store): Promise<number> {
  let count = 0;
  const filter = () => {
    count += 1;
    return 'skip' as const;
  };
  await store.range({ start: Uint8Array.of(0) }, { limit: 1, bytesMax: 1, filter });
  return count;
}

/** Reclaims until two steps in a row delete nothing: after the first an empty queue may remain. */
async function reclaimAll(service: QueueService): Promise<void> {
  let idle = 0;
  for (let step = 0; step < reclaimStepsMax; step += 1) {
    const { deleted, more } = await service.reclaim({ entriesMax: 500 });
    idle = deleted === 0 && !more ? idle + 1 : 0;
    if (idle === 2) return;
  }
  throw new Error('reclaiming has no end');
}

/** After a day only what can still be read is stored; see docs/internals/queue-keys.md. */
async function assertReclaimed(world: QueueWorld, store: Store, service: QueueService) {
  world.clock.advanceMicros(daySeconds * 1_000_000);
  await reclaimAll(service);
  const queues = accounts.flatMap((account) => [...world.accounts[account].values()]);
  const live = queues.flatMap((queue) => queue.live(world.now)).length;
  const entriesMax = accounts.length + 2 * queues.length + 3 * live;
  const entries = await countEntries(store);
  assert.ok(entries <= entriesMax, `${entries} entries are stored, at most ${entriesMax} are used`);
}

for (const name of engineNames) {
  it(
    `answers as the model does over ${name}, opened again and again (seed ${seed})`,
    costly(),
    async (t) => {
      const clock = manualClock(startMicros);
      await using engine = await reopenableStore[name](clock);
      const randomness = new SimRandom(seed + 1);
      const start = () => queueServices(2, { store: engine.store(), clock, randomness });
      let services = start();
      const world = await seeded(t, {
        random: new SimRandom(seed),
        clock,
        steps: stepsInProcess,
        servers: { operations: services, housekeeping: services },
        shownMicros: (micros) => micros,
        restarts: 10,
        async restart() {
          await engine.reopen();
          services = start();
          return { operations: services, housekeeping: services };
        },
      });
      const [service] = services;
      assert.ok(service !== undefined);
      await assertReclaimed(world, engine.store(), service);
    },
  );
}

it(
  `answers every queue operation as the model does, over HTTP (seed ${seed})`,
  costly(),
  async (t) => {
    const clock = manualClock(startMicros);
    const keys = accounts.map((name) => ({ name, key: Buffer.from(name).toString('base64') }));
    const server = await createServer({
      inMemory: true,
      clock,
      checkClockSkew: false,
      accounts: keys,
    });
    const clients = keys.map(({ name, key }) => {
      return new QueueWireClient(server.queuePort, { account: name, key });
    });
    const operations = new WireQueues(
      Object.fromEntries(clients.map((client) => [client.account, client])),
    );
    try {
      await seeded(t, {
        random: new SimRandom(seed),
        clock,
        steps: stepsOverHttp,
        servers: { operations: [operations] },
        shownMicros,
      });
    } finally {
      for (const client of clients) client.close();
      await server.close();
    }
  },
);
