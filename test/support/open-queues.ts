import type { TestContext } from 'node:test';
import { manualClock, type ManualClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { withPartitionRule } from '../../src/kv/partition-rule.js';
import type { Store } from '../../src/kv/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import type { DequeuedMessage, NewMessage } from '../../src/services/queues/types.js';
import { openTestStore, type EngineName } from './stores.js';

export const account = 'acct';
export const queue = 'tasks';
export const second = 1_000_000;

export interface QueuesUnderTest {
  readonly service: QueueService;
  readonly store: Store;
  readonly clock: ManualClock;
  /** A service over the same store, as another process would have it. */
  readonly other: () => QueueService;
}

export interface QueueOptions {
  /** Wraps the store of the service. */
  readonly wrap?: (store: Store) => Store;
}

/** A queue service with the queue `tasks` over a new store, with a clock that stands still. */
export async function openQueues(
  engine: EngineName,
  context: TestContext,
  { wrap = (inner) => inner }: QueueOptions = {},
): Promise<QueuesUnderTest> {
  const clock = manualClock();
  const store = await openTestStore(engine, context, clock);
  const make = () =>
    new QueueService({
      store: withPartitionRule(wrap(store)),
      clock: forwardClock(clock),
      randomness: systemRandomness,
    });
  const service = make();
  await service.createQueue(account, queue, []);
  return { service, store, clock, other: make };
}

export function message(text: string, options: Partial<NewMessage> = {}): NewMessage {
  return { text, visibilitySeconds: 0, timeToLiveSeconds: 604_800, ...options };
}

export function textsOf(messages: readonly Pick<DequeuedMessage, 'text'>[]): string[] {
  return messages.map(({ text }) => text);
}
