import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { byLength, costly } from '../support/run-length.js';
import { systemClock } from '../../src/base/clock.js';
import { openStore } from '../../src/app/backend.js';
import { settingsOf } from '../../src/app/settings.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { ServerProcess } from '../support/crash-server.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { WireQueues } from '../support/wire-queues.js';
import type { QueueWireClient } from '../wire/kit/queue-client.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import { QueueLedger, type Known } from './queue-ledger.js';
import { crashQueue, holdSeconds, runQueueLoad, type QueueLoad } from './queue-load.js';
import { settleQueue } from './queue-settle.js';
import { someWork } from './some-work.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', byLength({ short: 1, long: 20 }));
const connections = 8;
const dayMicros = 24 * 3600 * 1_000_000;

function clientsOf(server: ServerProcess): QueueWireClient[] {
  return Array.from({ length: connections }, () => server.queueClient());
}

/** After a day every timeout has passed: each message must come exactly once, and no other. */
async function takeEverythingLater(ledger: QueueLedger, directory: string): Promise<void> {
  const later = { ...systemClock, nowMicros: () => systemClock.nowMicros() + dayMicros };
  const settings = settingsOf({ location: directory, clock: later });
  const { storageClock: clock, randomness } = settings;
  // Opens the store as a server does, with the content of the journal.
  const store = await openStore(settings, 'exclusive');
  try {
    const service = new QueueService({ store, clock, randomness });
    const counted = await service.getQueue(account, crashQueue);
    const due = new Set(ledger.all('stored').map(({ serial }) => serial));
    for (const state of ['stored', 'maybe'] as const) {
      for (const message of ledger.all(state)) ledger.letGo(message, 0);
    }
    let taken = 0;
    for (;;) {
      ledger.issueGet(32);
      const options = { count: 32, visibilitySeconds: holdSeconds };
      const found = await service.getMessages(account, crashQueue, options);
      const messages = ledger.acknowledgeGet(32, found, holdSeconds * 1000);
      for (const { serial } of messages) due.delete(serial);
      taken += found.length;
      if (found.length === 0) break;
    }
    ledger.checkNothingLost(Date.now());
    assert.deepEqual([...due], [], 'messages that are lost');
    assert.equal(counted.approximateMessageCount, taken);
    assert.deepEqual(ledger.violations, []);
  } finally {
    await store.close();
  }
}

it(
  `keeps every promise of a queue when it is killed ${rounds} times under load (seed ${seed})`,
  costly(),
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-queue-crash-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const directory = join(folder, 'data');
    const ledger = new QueueLedger();
    const random = new SimRandom(seed);
    let server = await ServerProcess.start(directory);
    let held: Known[] = [];
    try {
      const first = server.queueClient();
      await new WireQueues({ [account]: first }).createQueue(account, crashQueue, []);
      first.close();
      for (let round = 1; round <= rounds; round += 1) {
        const load: QueueLoad = { ledger, random, isOver: false, surprises: [] };
        const done = runQueueLoad(load, clientsOf(server), held);
        await pause(random.between(20, 700));
        if (round === rounds) await someWork(server, () => ledger.acknowledged, rounds);
        await server.end('SIGKILL');
        load.isOver = true;
        await done;
        assert.deepEqual(load.surprises, [], `round ${round}`);
        server = await ServerProcess.start(directory);
        const client = server.queueClient();
        held = await settleQueue(ledger, new WireQueues({ [account]: client }));
        client.close();
        assert.deepEqual(ledger.violations, [], `round ${round}`);
      }
      t.diagnostic(`${ledger.acknowledged} acknowledged requests over ${rounds} kills`);
      assert.ok(ledger.acknowledged > rounds, 'the load did something');
    } finally {
      await server.end('SIGKILL');
    }
    await takeEverythingLater(ledger, directory);
  },
);
