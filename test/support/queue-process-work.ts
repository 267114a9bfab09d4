import { setTimeout as pause } from 'node:timers/promises';
import type { QueueService } from '../../src/services/queues/queue-service.js';
import type { SimRandom } from './sim-random.js';

export const workAccount = 'acct';
export const workQueue = 'jobs';
/** Longer than any run: no message comes again by itself. */
const visibilitySeconds = 3600;
/** Loops of one process that run side by side. */
const loops = 4;
const emptyPauseMs = 1;
/** A message that nobody gets for so many tries is stuck. */
const emptyGetsMax = 20_000;

/** What one process did. */
export interface WorkOutcome {
  /** Ids. */
  readonly put: string[];
  readonly deliveries: { readonly id: string; readonly dequeueCount: number }[];
  /** Ids of messages that were deleted; those that were not were given back. */
  readonly deleted: string[];
}

/** Puts messages and takes whatever is there, until the queue is empty. */
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
    throw new Error('messages are left that nobody gets');
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

/** Deletes most of what it gets and gives the rest back. Whether it got any. */
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
