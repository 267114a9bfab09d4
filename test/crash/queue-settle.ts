import assert from 'node:assert/strict';
import { WireRefusal } from '../support/queue-operations.js';
import type { WireQueues } from '../support/wire-queues.js';
import { developmentAccount as account } from '../wire/kit/signature.js';
import type { Known, QueueLedger } from './queue-ledger.js';
import { crashQueue, holdSeconds, shown } from './queue-load.js';

/** How many held messages are left to the next load, so that rounds stay short. */
const heldMax = 100;
const samples = 10;

/** Gets and holds all visible messages. */
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

/** Checks that receipts from before the crash still work. */
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
  // Repeats a deletion that got no response. Both results are correct; afterwards the message is
  // gone.
  for (const message of ledger.all('maybe')) {
    if (message.receipt === undefined) continue;
    await isDeletedNow(queues, message);
    message.presence = 'deleted';
  }
}

/**
 * Compares the content of the server with what it acknowledged, and adds violations to
 * `ledger.violations`. Nobody else may use the queue. Resolves with the messages that are held
 * afterwards.
 */
export async function settleQueue(ledger: QueueLedger, queues: WireQueues): Promise<Known[]> {
  ledger.crash();
  const count = async () => (await queues.getQueue(account, crashQueue)).approximateMessageCount;
  ledger.checkCount(await count());
  const before = ledger.held();
  const startMs = Date.now();
  await takeAll(ledger, queues);
  ledger.checkNothingLost(startMs);
  await tryReceipts(ledger, queues, before);
  const givenBackMs = Date.now();
  await takeAll(ledger, queues);
  ledger.checkNothingLost(givenBackMs);
  const held = ledger.held();
  for (const message of held.splice(heldMax)) {
    await queues.deleteMessage(account, crashQueue, shown(message));
    message.presence = 'deleted';
  }
  ledger.checkCount(await count());
  return held;
}
