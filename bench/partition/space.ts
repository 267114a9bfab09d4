import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { holdingTimers } from '../../src/base/async/timers.js';
import { nextTurn } from '../../src/base/async/turns.js';
import { systemClock } from '../../src/base/clock.js';
import { systemRandomness } from '../../src/base/randomness.js';
import { DiskFiles } from '../../src/engines/journal/disk-files.js';
import { openJournaledStore } from '../../src/engines/journal/store.js';
import { openLmdbStore } from '../../src/engines/lmdb/store.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { Members } from '../../src/partition/members.js';
import { admitMembers } from '../../src/partition/admission.js';
import { Operations } from '../../src/partition/operations/operations.js';
import { pageEntriesStandard } from '../../src/partition/operations/operation-runner.js';
import type { MoveStep } from '../../src/partition/rows.js';
import { openPartitionedStore } from '../../src/partition/store.js';

export function prefixOf(partition: number) {
  return partitionPrefix('tables', 'account', 2, `p${String(partition).padStart(4, '0')}`);
}

export function keyOf(partition: number, row: number) {
  return appendString(prefixOf(partition), `row${String(row).padStart(7, '0')}`);
}

/** One key space over these stores. Its pages are those of a server. */
export async function spaceOver(
  stores: readonly MemberStore[],
  onStep: (step: MoveStep) => void = () => undefined,
) {
  const members = new Members('s0', new Map(stores.map((store, at) => [`s${at}`, store])));
  await admitMembers(members, { locationOf: (name) => name, randomness: systemRandomness });
  const common = { members, clock: systemClock, timers: holdingTimers };
  const store = await openPartitionedStore({ ...common, randomness: systemRandomness });
  const catalogue = new Catalogue(members.home);
  const operations = new Operations({
    ...common,
    catalogue,
    pauseMillisMax: 2_000,
    pageEntriesMax: pageEntriesStandard,
    giveWay: nextTurn,
    onStep,
  });
  return { store, catalogue, operations };
}

type Space = Awaited<ReturnType<typeof spaceOver>>;

/** Cuts the space before a partition. */
export async function cutAt({ catalogue, operations }: Space, partition: number): Promise<void> {
  const at = prefixOf(partition);
  const begun = await operations.beginSplit((await catalogue.map()).at(at).id, at);
  if (!begun.ok) throw new Error(begun.refusal);
  await operations.carryOut(begun.operation);
}

export async function moveTo(
  { catalogue, operations }: Space,
  partition: number,
  target: string,
): Promise<void> {
  const { id, store } = (await catalogue.map()).at(prefixOf(partition));
  if (store === target) return;
  const begun = await operations.beginMove(id, target);
  if (!begun.ok) throw new Error(begun.refusal);
  await operations.carryOut(begun.operation);
}

/** The file whose sync a commit of a store waits for, if it waits for one. */
export type Durable = 'journal' | 'data file' | 'no sync';

async function openIn(directory: string, durable: Durable): Promise<MemberStore> {
  const clock = systemClock;
  if (durable === 'data file') return openLmdbStore({ directory, clock });
  if (durable === 'no sync') return openLmdbStore({ directory, clock, durability: 'relaxed' });
  const base = await openLmdbStore({ directory, clock, ingestsInThread: 'large' });
  const files = new DiskFiles({ directory, sync: true });
  const [timers, randomness] = [holdingTimers, systemRandomness];
  return openJournaledStore({ base, files, clock, timers, randomness });
}

/** Durable stores in new directories, which are removed in the end. */
export async function withDirectories<Result>(
  count: number,
  durable: Durable,
  work: (stores: readonly MemberStore[]) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'tabularium-bench-'));
  const stores: MemberStore[] = [];
  try {
    for (let at = 0; at < count; at += 1) {
      const directory = join(folder, `s${at}`);
      stores.push(await openIn(directory, durable));
    }
    return await work(stores);
  } finally {
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true, force: true });
  }
}
