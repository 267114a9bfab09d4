import { systemClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import type { Store } from '../../src/kv/store.js';
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

/** Both kinds in turn, so that a busy moment of the machine affects both. */
async function compared(
  bare: Store,
  routed: Store,
  measure: (store: Store) => Promise<number>,
): Promise<readonly [number, number]> {
  const [ofBare, ofRouted]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    ofBare.push(await measure(bare));
    ofRouted.push(await measure(routed));
  }
  return [median(ofBare), median(ofRouted)];
}

/** A store made of one store, beside that store alone. */
export async function benchRouting(): Promise<readonly string[]> {
  const [bare, beneath] = [
    await openMemoryStore({ clock: systemClock }),
    await openMemoryStore({ clock: systemClock }),
  ];
  const space = await spaceOver([beneath]);
  for (let at = 8; at < partitions; at += 8) await cutAt(space, at);
  const [bareMicros, routedMicros] = await compared(bare, space.store, readMicros);
  const rates = await withDirectories(2, 'data file', async ([alone, member]) => {
    if (alone === undefined || member === undefined) throw new Error('no stores');
    const { store } = await spaceOver([member]);
    return compared(alone, store, commitMicros);
  });
  const micros = (routedMicros - bareMicros).toFixed(2);
  return [
    `routing: ${micros} µs of CPU a read (${bareMicros.toFixed(2)} bare, ${routedMicros.toFixed(2)} routed, in memory)`,
    `routing: ${rates[0].toFixed(1)} µs of CPU a durable commit bare, ${rates[1].toFixed(1)} routed: ${changeText(rates[1] / rates[0])}`,
  ];
}
