import { systemClock } from '../../src/base/clock.js';
import { forwardClock } from '../../src/base/forward-clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { openPostgresStore } from '../../src/engines/postgres/store.js';
import { QueueService } from '../../src/services/queues/queue-service.js';
import { progress } from '../progress.js';
import { messageText } from '../queue-workloads.js';

const queue = { account: 'account', name: 'drained' } as const;
const putters = 256;
const consumers = 8;
const taken = { count: 32, visibilitySeconds: 3_600 } as const;
const stretches = 10;

/** Puts messages, then takes and deletes them all: the rate of each tenth, in a second. */
export async function drainQueue(
  url: string,
  schema: string,
  messages: number,
): Promise<readonly number[]> {
  const clock = forwardClock(systemClock);
  const store = await openPostgresStore({ url, schema, clock: systemClock });
  const service = new QueueService({ store, clock, randomness: systemRandomness });
  const { account, name } = queue;
  await service.createQueue(account, name, []);
  let put = 0;
  const putAll = async (): Promise<void> => {
    while (put < messages) {
      put += 1;
      const message = { text: messageText, visibilitySeconds: 0, timeToLiveSeconds: Infinity };
      await service.putMessage(account, name, message);
    }
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: putters }, putAll));
  progress(`${messages} messages were put at ${Math.round((messages * 1e3) / since(begun))} /s`);

  const rates: number[] = [];
  let deleted = 0;
  let stretchBegun = performance.now();
  const each = messages / stretches;
  const drain = async (): Promise<void> => {
    for (;;) {
      const held = await service.getMessages(account, name, taken);
      if (held.length === 0) return;
      await Promise.all(held.map((message) => service.deleteMessage(account, name, message)));
      const before = Math.floor(deleted / each);
      deleted += held.length;
      const ended = Math.floor(deleted / each);
      if (ended === before) continue;
      rates.push(((ended - before) * each * 1e3) / since(stretchBegun));
      progress(`${deleted} messages are drained, the last at ${Math.round(rates.at(-1) ?? 0)} /s`);
      stretchBegun = performance.now();
    }
  };
  await Promise.all(Array.from({ length: consumers }, drain));
  await store.close();
  if (deleted !== messages) throw new Error(`${deleted} of ${messages} messages were drained.`);
  return rates;
}

function since(beginMs: number): number {
  return performance.now() - beginMs;
}
