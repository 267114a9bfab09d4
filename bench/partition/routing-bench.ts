import { systemClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import type { Store } from '../../src/kv/store.js';
import { guardKey } from '../../src/partition/keys.js';
import { encodeGuardRow } from '../../src/partition/rows.js';
import { changeText, median } from '../figures.js';
import { cutAt, keyOf, spaceOver, withDirectories } from './space.js';

const partitions = 64;
const rounds = 9;
const readsEach = 100_000;
const commitsEach = 4_000;
const clients = 64;

/** Microseconds of CPU of a read, one after the other: other processes do not count. */
async function readMicros(store: Store): Promise<number> {
  const began = process.cpuUsage();
  for (let count = 0; count < readsEach; count += 1) await store.get(keyOf(count % partitions, 1));
  return cpuMicros(began) / readsEach;
}

/** Microseconds of CPU of a commit, of clients that wait for theirs. */
async function commitMicros(store: Store): Promise<number> {
  const value = Buffer.alloc(1_000);
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < commitsEach) {
      next += 1;
      const put = { key: keyOf(next % partitions, next), value };
      await store.commit({ checks: [], puts: [put], deletes: [] });
    }
  };
  const began = process.cpuUsage();
  await Promise.all(Array.from({ length: clients }, client));
  return cpuMicros(began) / commitsEach;
}

function cpuMicros(began: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(began);
  return user + system;
}

/** All in turn, so that a busy moment of the machine affects all. */
async function compared(
  stores: readonly Store[],
  measure: (store: Store) => Promise<number>,
): Promise<readonly number[]> {
  const measured = stores.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, store] of stores.entries()) measured[at]?.push(await measure(store));
  }
  return measured.map(median);
}

/** A store whose commits carry a guard, as those of a range do, and nothing else of routing. */
async function guarded(store: MemberStore): Promise<Store> {
  const key = guardKey(1);
  const row = { state: 'serving', epoch: 1, operation: 0, token: 0 } as const;
  const puts = [{ key, value: encodeGuardRow(row) }];
  const written = await store.fence({ checks: [], puts, deletes: [] });
  if (!written.ok) throw new Error('a fence without checks applies');
  const guard = { key, version: written.version };
  return {
    get: (read) => store.get(read, { guard }),
    getMany: (keys) => store.getMany(keys, { guard }),
    range: (range, options) => store.range(range, { ...options, guard }),
    commit: (batch) => store.commit({ ...batch, guard }),
    close: () => store.close(),
  };
}

/** What a commit takes bare, with a guard, and routed. */
function commitLine(
  kind: string,
  [bare = 0, withGuard = 0, routed = 0]: readonly number[],
): string {
  return (
    `routing: ${bare.toFixed(1)} µs of CPU a ${kind} commit bare, ${withGuard.toFixed(1)} with a guard, ` +
    `${routed.toFixed(1)} routed: ${changeText(routed / bare)}`
  );
}

/** A store made of one store, beside that store alone, without and with a guard. */
export async function benchRouting(): Promise<readonly string[]> {
  const clock = systemClock;
  const inMemory = [await openMemoryStore({ clock }), await openMemoryStore({ clock })] as const;
  const [bare, beneath] = inMemory;
  const space = await spaceOver([beneath]);
  for (let at = 8; at < partitions; at += 8) await cutAt(space, at);
  const reads = await compared([bare, await guarded(bare), space.store], readMicros);
  const commits = await compared([bare, await guarded(bare), space.store], commitMicros);
  const durable = await withDirectories(3, 'data file', async ([alone, own, member]) => {
    if (alone === undefined || own === undefined || member === undefined) {
      throw new Error('no stores');
    }
    const { store } = await spaceOver([member]);
    return compared([alone, await guarded(own), store], commitMicros);
  });
  const [ofBare = 0, ofGuarded = 0, ofRouted = 0] = reads;
  return [
    `routing: ${(ofRouted - ofBare).toFixed(2)} µs of CPU a read (${ofBare.toFixed(2)} bare, ` +
      `${ofGuarded.toFixed(2)} with a guard, ${ofRouted.toFixed(2)} routed, in memory)`,
    commitLine('memory', commits),
    commitLine('durable', durable),
  ];
}
