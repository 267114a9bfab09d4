import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { ServerProcess } from '../support/crash-server.js';
import { WireRefusal } from '../support/queue-operations.js';
import { SimRandom } from '../support/sim-random.js';
import { numberSetting, seedSetting } from '../support/sim-settings.js';
import { WireQueues } from '../support/wire-queues.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import { QueueLedger, type Known } from './queue-ledger.js';
import { crashQueue, holdSeconds, shown, workOnCrashQueue, type QueueLoad } from './queue-load.js';

// How to repeat and to run longer: docs/internals/correctness.md.

const seed = seedSetting('TABULARIUM_CRASH_SEED');
const rounds = numberSetting('TABULARIUM_CRASH_ROUNDS', 10);
const connections = 8;
/** Held messages that a round leaves to the next, so that rounds stay short. */
const heldMax = 100;
const samples = 10;
const dayMicros = 24 * 3600 * 1_000_000;

/** Runs the load on fresh connections until the server dies. Workers share what is held. */
async function runLoad(
  server: ServerProcess,
  load: QueueLoad,
  held: readonly Known[],
): Promise<void> {
  const clients = Array.from({ length: connections }, () => server.queueClient());
  await Promise.all(
    clients.map((client, worker) => {
      const own = held.filter((_, index) => index % connections === worker);
      return workOnCrashQueue(load, new WireQueues({ [account]: client }), own);
    }),
  );
  for (const client of clients) client.close();
}

/** Takes everything that can be got, to hold it. */
async function takeAll(ledger: QueueLedger, queues: WireQueues): Promise<Known[]> {
  const taken: Known[] = [];
  for (;;) {
    const count = 32;
    ledger.issueGet(count);
    const found = await queues.getMessages(account, crashQueue, {
      count,
      visibilitySeconds: holdSeconds,
    });
    taken.push(...ledger.acknowledgeGet(count, found, 1000 * (holdSeconds - 1)));
    if (found.length === 0) return taken;
  }
}

async function isDeletedNow(queues: WireQueues, message: Known): Promise<boolean> {
  try {
    await queues.deleteMessage(account, crashQueue, shown(message));
    return true;
  } catch (error) {
    if (error instanceof WireRefusal && error.code === 'MessageNotFound') return false;
    throw error;
  }
}

/** Receipts that were given out before the crash do what they did. */
async function tryReceipts(ledger: QueueLedger, queues: WireQueues, before: readonly Known[]) {
  for (const message of before.slice(0, samples)) {
    const change = { ...shown(message), visibilitySeconds: 0 };
    const { popReceipt } = await queues.updateMessage(account, crashQueue, change);
    message.receipt = popReceipt;
    ledger.letGo(message, 0);
  }
  for (const message of before.slice(samples, 2 * samples)) {
    assert.ok(await isDeletedNow(queues, message), `message ${message.serial} can be deleted`);
    message.presence = 'deleted';
  }
  for (const message of ledger.all('deleted').slice(-samples)) {
    assert.ok(!(await isDeletedNow(queues, message)), `message ${message.serial} stays deleted`);
  }
  // A deletion that was not answered: either outcome is right, and this one makes it certain.
  for (const message of ledger.all('maybe')) {
    if (message.receipt === undefined) continue;
    await isDeletedNow(queues, message);
    message.presence = 'deleted';
  }
}

/** Compares what a restarted server holds with what it promised; what is held afterwards. */
async function settle(ledger: QueueLedger, queues: WireQueues): Promise<Known[]> {
  ledger.crash();
  const count = async () => (await queues.getQueue(account, crashQueue)).approximateMessageCount;
  ledger.checkCount(await count());
  const isHeld = ({ hiddenUntilMs, receipt }: Known) => hiddenUntilMs > 0 && receipt !== undefined;
  const before = ledger.all('stored').filter(isHeld);
  const startMs = Date.now();
  await takeAll(ledger, queues);
  ledger.checkNothingLost(startMs);
  await tryReceipts(ledger, queues, before);
  const givenBackMs = Date.now();
  await takeAll(ledger, queues);
  ledger.checkNothingLost(givenBackMs);
  const held = ledger.all('stored').filter(isHeld);
  for (const message of held.splice(heldMax)) {
    await queues.deleteMessage(account, crashQueue, shown(message));
    message.presence = 'deleted';
  }
  ledger.checkCount(await count());
  return held;
}

/** A day later every timeout has passed: each message comes once, and nothing else does. */
async function takeEverythingLater(ledger: QueueLedger, directory: string): Promise<void> {
  const clock = forwardClock({
    ...systemClock,
    nowMicros: () => systemClock.nowMicros() + dayMicros,
  });
  const store = await openLmdbStore({ directory, clock });
  try {
    const service = new QueueService({ store, clock, randomness: systemRandomness });
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

it(`keeps every promise of a queue when it is killed ${rounds} times under load (seed ${seed})`, async (t) => {
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
      const done = runLoad(server, load, held);
      await pause(random.between(20, 700));
      await server.end('SIGKILL');
      load.isOver = true;
      await done;
      assert.deepEqual(load.surprises, [], `round ${round}`);
      server = await ServerProcess.start(directory);
      const client = server.queueClient();
      held = await settle(ledger, new WireQueues({ [account]: client }));
      client.close();
      assert.deepEqual(ledger.violations, [], `round ${round}`);
    }
    t.diagnostic(`${ledger.acknowledged} acknowledged requests over ${rounds} kills`);
    assert.ok(ledger.acknowledged > rounds, 'the load did something');
  } finally {
    await server.end('SIGKILL');
  }
  await takeEverythingLater(ledger, directory);
});
