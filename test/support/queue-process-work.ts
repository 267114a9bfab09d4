import { setTimeout as pause } from 'node:timers/promises';
import type { QueueService } from '../../src/services/queues/queue-service.js';
import type { SimRandom } from './sim-random.js';

export const workAccount = 'acct';
export const workQueue = 'jobs';
/** Longer than any run, so that no message becomes visible again by itself. */
const visibilitySeconds = 3600;
/** Concurrent loops in one process. */
const loops = 4;
const emptyPauseMs = 1;
/**
 * After this many looks in a row at a queue in which nothing changes, a message is lost. They take
 * longer than an engine gives a write, so that a stuck writer is an error of its own.
 */
const idleLooksMax = 100_000;

/** The result of one process. */
export interface WorkOutcome {
  /** Ids. */
  readonly put: string[];
  readonly deliveries: { readonly id: string; readonly dequeueCount: number }[];
  /** Ids of deleted messages; the others were made visible again. */
  readonly deleted: string[];
}

/** Puts messages and gets any that are there, until the queue is empty. */
export async function workOnQueue(
  service: QueueService,
  random: SimRandom,
  messages: number,
): Promise<WorkOutcome> {
  const outcome: WorkOutcome = { put: [], deliveries: [], deleted: [] };
  const loop = async () => {
    while (outcome.put.length < messages) {
      await putSome(service, random, outcome);
      if (random.chance(0.5)) await takeSome(service, random, outcome);
    }
    let left = Infinity;
    for (let idle = 0; idle < idleLooksMax; idle += 1) {
      if (await takeSome(service, random, outcome)) {
        idle = 0;
        continue;
      }
      const stored = await storedMessages(service);
      if (stored === 0) return;
      // Another process deletes what it has taken, however slowly.
      if (stored !== left) idle = 0;
      left = stored;
      await pause(emptyPauseMs);
    }
    const { put, deliveries, deleted } = outcome;
    throw new Error(
      `${left} messages are left that nobody gets; this process has put ` +
        `${put.length}, taken ${deliveries.length} and deleted ${deleted.length}`,
    );
  };
  await Promise.all(Array.from({ length: loops }, loop));
  return outcome;
}

async function storedMessages(service: QueueService): Promise<number> {
  return (await service.getQueue(workAccount, workQueue)).approximateMessageCount;
}

async function putSome(service: QueueService, random: SimRandom, { put }: WorkOutcome) {
  const message = { text: random.uuid(), visibilitySeconds: 0, timeToLiveSeconds: Infinity };
  const putOne = async () => {
    const { id } = await service.putMessage(workAccount, workQueue, message);
    put.push(id);
  };
  await Promise.all(Array.from({ length: random.between(1, 5) }, putOne));
}

/** Gets messages, deletes most and makes the rest visible. True when there were any. */
async function takeSome(
  service: QueueService,
  random: SimRandom,
  outcome: WorkOutcome,
): Promise<boolean> {
  const options = { count: random.pick([1, 4, 32]), visibilitySeconds };
  const messages = await service.getMessages(workAccount, workQueue, options);
  for (const { id, popReceipt, dequeueCount } of messages) {
    outcome.deliveries.push({ id, dequeueCount });
    const held = { id, popReceipt };
    if (random.chance(0.1)) {
      await service.updateMessage(workAccount, workQueue, { ...held, visibilitySeconds: 0 });
    } else {
      await service.deleteMessage(workAccount, workQueue, held);
      outcome.deleted.push(id);
    }
  }
  return messages.length > 0;
}
