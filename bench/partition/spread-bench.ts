import { holdingTimers } from '../../src/base/async/timers.js';
import { sleep } from '../../src/base/async/sleep.js';
import { Slots } from '../../src/base/async/slots.js';
import { systemClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { openPostgresStore } from '../../src/engines/postgres/store.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import type { GuardedBatch } from '../../src/kv/guards.js';
import {
  startPostgres,
  withoutPostgres,
  type PostgresServer,
} from '../../test/support/postgres-server.js';
import { cutAt, keyOf, moveTo, spaceOver } from './space.js';

const atOnce = 8;
const delayMs = 10;
/** Divisible into ranges of one width for every number of stores. */
const partitions = 96;
const clients = 2 * partitions;
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

/** Commits a second of the clients over stores that have the same number of ranges each. */
async function rateOver(stores: readonly MemberStore[], ranges: number): Promise<number> {
  const space = await spaceOver(stores);
  const width = partitions / ranges;
  for (let range = 1; range < ranges; range += 1) await cutAt(space, range * width);
  for (let range = 0; range < ranges; range += 1) {
    await moveTo(space, range * width, `s${range % stores.length}`);
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
  await Promise.all(Array.from({ length: clients }, client));
  await space.store.close();
  return (done * 1_000) / measuredMs;
}

/** A line that compares rates over several stores with the rate over one. */
function spreadLine(what: string, counts: readonly number[], rates: readonly number[]): string {
  const [one = 1, ...more] = rates;
  const shown = rates.map((rate) => String(Math.round(rate))).join(', ');
  const times = more.map((rate) => (rate / one).toFixed(2)).join(' and ');
  return `${what}: ${shown} commits/s over ${counts.join(', ')} stores: ${times} times one`;
}

/** The same clients over one, two and four stores. */
export async function benchSpread(): Promise<readonly string[]> {
  const counts = [1, 2, 4];
  const rates: number[] = [];
  for (const count of counts) {
    const stores = await Promise.all(Array.from({ length: count }, slowStore));
    rates.push(await rateOver(stores, 4));
  }
  return [spreadLine('stores of a fixed delay', counts, rates)];
}

/** The same clients over one, two and three databases, each a server of its own on this machine. */
export async function benchDatabases(): Promise<readonly string[]> {
  if (withoutPostgres !== false) return [`databases: ${withoutPostgres}`];
  const counts = [1, 2, 3];
  const servers: PostgresServer[] = [];
  try {
    for (const _ of counts) servers.push(await startPostgres());
    const rates: number[] = [];
    for (const count of counts) {
      const stores = servers
        .slice(0, count)
        .map(({ url }) => openPostgresStore({ url, clock: systemClock, schema: `over${count}` }));
      rates.push(await rateOver(await Promise.all(stores), 6));
    }
    return [spreadLine('databases', counts, rates)];
  } finally {
    for (const server of servers) await server.dispose();
  }
}
