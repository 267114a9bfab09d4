import { setTimeout as pause } from 'node:timers/promises';
import { openStore } from '../../src/app/backend.js';
import { OpenPartitions } from '../../src/app/open-partitions.js';
import type { ServerOptions } from '../../src/app/options/table.js';
import { startServer, type TabulariumServer } from '../../src/app/server.js';
import { StoreClosedError } from '../../src/kv/errors.js';
import { partitionPrefixLength } from '../../src/kv/partition-prefix.js';
import { TakenOverError } from '../../src/partition/operations/tools.js';
import { dataOf } from '../../src/partition/range-map.js';
import type { RangeRow } from '../../src/partition/rows.js';
import { drawn } from './run-length.js';

const pauseMs = 2;
const cuts = 5;

/**
 * A server in memory over three stores, whose ranges split, merge and move at random all the time.
 */
export async function createMovingServer(options: ServerOptions): Promise<TabulariumServer> {
  const over = new AbortController();
  let moved: Promise<void> = Promise.resolve();
  const stores = { b: { inMemory: true }, c: { inMemory: true } } as const;
  const server = await startServer({ ...options, stores }, 'exclusive', async (...settings) => {
    const store = await openStore(...settings);
    if (!(store instanceof OpenPartitions)) throw new Error('the server has several stores');
    moved = moveUntil(store, over.signal);
    // It is awaited when the server closes.
    moved.catch(() => undefined);
    return store;
  });
  const close = server.close.bind(server);
  server.close = async () => {
    over.abort();
    // What went wrong with a range fails the suite that closes its server.
    await moved;
    await close();
  };
  return server;
}

async function moveUntil(store: OpenPartitions, signal: AbortSignal): Promise<void> {
  try {
    while (!signal.aborted) {
      await step(store);
      await pause(pauseMs);
    }
  } catch (error) {
    if (!(error instanceof StoreClosedError)) throw error;
  }
}

async function step(store: OpenPartitions): Promise<void> {
  const { catalogue, members, operationRunner } = store;
  const { operations } = operationRunner;
  const { ranges } = await catalogue.map();
  const free = ranges.filter((range) => !members.isBound(range));
  const [range, target] = [oneOf(free.length > 0 ? free : ranges), oneOf(members.names)];
  if (range === undefined || target === undefined) return;
  const next = ranges[ranges.indexOf(range) + 1] ?? range;
  const at = await cutOf(store, range);
  const begun = await oneOf([
    () => (at === undefined ? undefined : operations.beginSplit(range.id, at)),
    () => operations.beginMerge(range.id, next.id),
    () => operations.beginMove(range.id, target),
    () => operations.beginMove(range.id, target),
  ])?.();
  if (begun?.ok !== true) return;
  try {
    await operations.carryOut(begun.operation);
  } catch (error) {
    // The server goes on with it: the lease is over before the move on a busy machine, or when the
    // clock of the suite jumps.
    if (!(error instanceof TakenOverError)) throw error;
  }
}

/** A partition in a range. */
async function cutOf({ members }: OpenPartitions, range: RangeRow) {
  const sample = await members.named(range.store).sample(dataOf(range), cuts);
  const key = oneOf(sample.cuts);
  return key?.subarray(0, partitionPrefixLength(key));
}

function oneOf<Item>(items: readonly Item[]): Item | undefined {
  return items[drawn(items.length)];
}
