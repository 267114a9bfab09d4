import { holdingTimers } from '../../src/base/async/timers.js';
import { sleep } from '../../src/base/async/sleep.js';
import { Slots } from '../../src/base/async/slots.js';
import { systemClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import type { GuardedBatch } from '../../src/kv/guards.js';
import { cutAt, keyOf, moveTo, spaceOver } from './space.js';

const atOnce = 8;
const delayMs = 10;
const partitions = 64;
const clientsEach = 32;
const measuredMs = 6_000;

/** A store that has 8 commits under way at most, each of which takes 10 ms: cores do not decide. */
async function slowStore(): Promise<MemberStore> {
  const store = await openMemoryStore({ clock: systemClock });
  const slots = new Slots(atOnce);
  return {
    get: (key, options) => store.get(key, options),
    getMany: (keys, options) => store.getMany(keys, options),
    range: (range, options) => store.range(range, options),
    sample: (range, cuts, options) => store.sample(range, cuts, options),
    fence: (batch) => store.fence(batch),
    ingest: (ingestion) => store.ingest(ingestion),
    close: () => store.close(),
    async commit(batch: GuardedBatch) {
      await slots.take(1, new AbortController().signal);
      try {
        await sleep(holdingTimers, delayMs);
        return await store.commit(batch);
      } finally {
        slots.give(1);
      }
    },
  };
}

async function rateOver(count: number): Promise<number> {
  const space = await spaceOver(await Promise.all(Array.from({ length: count }, slowStore)));
  for (let at = partitions / 4; at < partitions; at += partitions / 4) await cutAt(space, at);
  for (let quarter = 0; quarter < 4; quarter += 1) {
    await moveTo(space, (quarter * partitions) / 4, `s${quarter % count}`);
  }
  const endMs = performance.now() + measuredMs;
  let done = 0;
  // A client has a partition of its own, so that no store waits for another.
  const client = async (_: unknown, own: number): Promise<void> => {
    while (performance.now() < endMs) {
      const put = { key: keyOf(own % partitions, done), value: Buffer.alloc(100) };
      await space.store.commit({ checks: [], puts: [put], deletes: [] });
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: clientsEach * 4 }, client));
  await space.store.close();
  return (done * 1_000) / measuredMs;
}

/** The same clients over one, two and four stores. */
export async function benchSpread(): Promise<readonly string[]> {
  const rates: number[] = [];
  for (const count of [1, 2, 4]) rates.push(await rateOver(count));
  const [one = 1, two = 0, four = 0] = rates;
  const shown = rates.map((rate) => String(Math.round(rate))).join(', ');
  return [
    `stores of a fixed delay: ${shown} commits/s over 1, 2, 4 stores: ` +
      `${(two / one).toFixed(2)} and ${(four / one).toFixed(2)} times one`,
  ];
}
