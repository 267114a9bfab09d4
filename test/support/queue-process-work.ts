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
/** After this many empty gets in a row a message is lost. */
const emptyGetsMax = 20_000;

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
    for (let empty = 0; empty < emptyGetsMax; empty += 1) {
      if (await takeSome(service, random, outcome)) empty = 0;
      else if (await isEmpty(service)) return;
      else await pause(emptyPauseMs);
    }
    const { approximateMessageCount } = await service.getQueue(workAccount, workQueue);
    const { put, deliveries, deleted } = outcome;
    throw new Error(
      `${approximateMessageCount} messages are left that nobody gets; this process has put ` +
        `${put.length}, taken ${deliveries.length} and deleted ${deleted.length}`,
    );
  };
  await Promise.all(Array.from({ length: loops }, loop));
  return outcome;
}

async function isEmpty(service: QueueService): Promise<boolean> {
  return (await service.getQueue(workAccount, workQueue)).approximateMessageCount === 0;
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
