import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { comparedParts, stillDiffering, type ComparedStore } from '../../kv/differences.js';
import type { Guard, Guarded } from '../../kv/guards.js';
import { inParts, type SizedKey } from '../../kv/sized-keys.js';
import type { Candidate, Decision, Entry, KeyRange } from '../../kv/store.js';
import { keyAfter } from '../../kv/tuple.js';
import { dirtyRows, guardKey, progressKey } from '../keys.js';
import { answeringMember, type AskedMember, type FilledStore } from '../reach.js';
import {
  decodeDirtyKeys,
  type GuardRow,
  type OperationRow,
  type RangeRow,
  type Versioned,
} from '../rows.js';
import type { HeldOperation } from './held-operation.js';
import type { OperationTools } from './tools.js';

/** Bytes of a page, at most; a larger entry is a page of its own. */
const pageBytesMax = 1 << 20;
/** Keys that one call deletes, at most. */
const deletedKeysMax = 1_000;

/** A store, its name, and the guard that the process may use there. */
export interface GuardedStore {
  readonly name: string;
  readonly store: AskedMember;
  readonly guard: Guard;
}

/**
 * A store that has a range, with its guard there. Its calls reject with `StoreUnavailableError`
 * when it is silent. What it applies later does no harm: the next attempt takes its guard anew.
 */
export function guardedStore(
  tools: Pick<OperationTools, 'members' | 'timers'>,
  { store: name, id }: Pick<RangeRow, 'store' | 'id'>,
  { version }: Pick<Versioned<GuardRow>, 'version'>,
): GuardedStore {
  return { name, store: answeringMember(tools, name), guard: { key: guardKey(id), version } };
}

/**
 * Where entries are copied to. Without a guard: a store outside of the key space, to which nobody
 * else writes.
 */
export interface Target {
  readonly store: FilledStore;
  readonly guard?: Guard;
}

/** Where entries of a range are copied to, with the guard there. */
export type GuardedTarget = Required<Target>;

/** The version of progress rows, which nothing depends on. */
const progressVersion = 1;

/**
 * Copies at most `pagesMax` pages of a range, continuing where the last call ended. The next page
 * is read while one is written. Each write includes the progress, so the position is right after a
 * crash. `onPage` gets the bytes of each page.
 */
export async function copyPages(
  source: GuardedStore,
  target: Target,
  part: {
    readonly range: number;
    readonly data: KeyRange;
    readonly entriesMax: number;
    readonly pagesMax: number;
    readonly onPage: (bytes: number) => Promise<void>;
  },
): Promise<{ readonly more: boolean }> {
  const { range, data, entriesMax, pagesMax, onPage } = part;
  const key = progressKey(range);
  const progress = await target.store.get(key, guardOf(target));
  const read = (start: Bytes) =>
    source.store.range(
      { ...data, start },
      { limit: entriesMax, bytesMax: pageBytesMax, guard: source.guard },
    );
  let page = await read(progress?.value ?? data.start);
  for (let pages = 1; ; pages += 1) {
    const last = page.entries.at(-1);
    if (last === undefined) return { more: false };
    const value = keyAfter(last.key);
    const written = target.store.ingest({
      entries: [...page.entries, { key, value, version: progressVersion }],
      deletes: [],
      floor: 0,
      ...guardOf(target),
    });
    const isLast = !page.more || pages === pagesMax;
    const [, next] = await Promise.all([written, isLast ? undefined : read(value)]);
    await onPage(page.entries.reduce((sum, each) => sum + each.key.length + each.value.length, 0));
    if (next === undefined) return { more: page.more };
    page = next;
  }
}

/**
 * Reads at most a page of dirty rows, copies the keys that they name to the target, and deletes
 * them. Returns how many there were. The rows are read before the keys, so a later commit leaves
 * another row.
 */
export async function catchUp(
  source: GuardedStore,
  target: Target,
  { range, entriesMax }: { range: number; entriesMax: number },
): Promise<number> {
  const dirty = await source.store.range(dirtyRows(range), {
    limit: entriesMax,
    bytesMax: pageBytesMax,
    guard: source.guard,
  });
  if (dirty.entries.length === 0) return 0;
  await copyNamedKeys(source, target, dirty.entries, entriesMax);
  await deleteKeys(
    source,
    dirty.entries.map(({ key }) => key),
  );
  return dirty.entries.length;
}

/**
 * As `catchUp` when commits leave no further dirty rows: copies the keys of all of them, and
 * deletes none. False when that takes too long: some are left then.
 */
export async function copyLastDirtyRows(
  source: GuardedStore,
  target: Target,
  part: { readonly range: number; readonly entriesMax: number; readonly isTooLong: () => boolean },
): Promise<boolean> {
  const { range, entriesMax, isTooLong } = part;
  const options = { limit: entriesMax, bytesMax: pageBytesMax, guard: source.guard };
  const all = dirtyRows(range);
  for (let rest = all; ;) {
    const { entries, more } = await source.store.range(rest, options);
    await copyNamedKeys(source, target, entries, entriesMax);
    const last = entries.at(-1);
    if (!more || last === undefined) return true;
    if (isTooLong()) return false;
    rest = { ...all, start: keyAfter(last.key) };
  }
}

/** Makes all later versions of a store exceed the floor. */
export async function raiseFloor({ store, guard }: GuardedTarget, floor: number): Promise<void> {
  await store.ingest({ entries: [], deletes: [], floor, guard });
}

/** Copies the keys that dirty rows name, in parts of no more entries and bytes than a page. */
async function copyNamedKeys(
  source: GuardedStore,
  target: Target,
  dirty: readonly Entry[],
  entriesMax: number,
): Promise<void> {
  const keys = new Map<string, SizedKey>();
  for (const { value } of dirty) {
    for (const { key, valueBytes } of decodeDirtyKeys(value)) {
      const name = nameOfBytes(key);
      // Several rows may name a key, and their order does not tell which commit was the last one.
      const most = Math.max(valueBytes, keys.get(name)?.valueBytes ?? 0);
      keys.set(name, { key, valueBytes: most });
    }
  }
  for (const part of inParts(keys.values(), { keysMax: entriesMax, bytesMax: pageBytesMax })) {
    await copyKeys(
      source,
      target,
      part.map(({ key }) => key),
    );
  }
}

/** Copies keys as the source has them now; deletes at the target what the source does not have. */
async function copyKeys(
  source: GuardedStore,
  target: Target,
  keys: readonly Bytes[],
): Promise<void> {
  const found = await source.store.getMany(keys, { guard: source.guard });
  await target.store.ingest({
    entries: found.filter((entry) => entry !== undefined),
    deletes: keys.filter((_, index) => found[index] === undefined),
    floor: 0,
    ...guardOf(target),
  });
}

/**
 * Deletes all keys of an interval, in guarded steps. `onStep` is called after each, with the number
 * of keys that it has deleted.
 */
export async function deleteAll(
  place: GuardedStore,
  keys: KeyRange,
  onStep: (keys: number) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const { store, guard } = place;
  let rest = keys;
  for (;;) {
    const found: Bytes[] = [];
    const filter = (candidate: Candidate): Decision => {
      if (found.length === deletedKeysMax) return 'stop';
      found.push(Buffer.from(candidate.key));
      return 'skip';
    };
    const page = await store.range(rest, { limit: 1, bytesMax: 0, filter, guard });
    const last = found.at(-1);
    if (last === undefined) return;
    await deleteKeys(place, found);
    await onStep(found.length);
    if (!page.more) return;
    // Engines would have to skip the deleted keys again.
    rest = { ...keys, start: keyAfter(last) };
  }
}

/** As `deleteAll`, as a part of an operation, which renews its lease and tells its progress. */
export function deleteInSteps(
  held: HeldOperation<OperationRow>,
  guarded: GuardedStore,
  keys: KeyRange,
): Promise<void> {
  return deleteAll(guarded, keys, (deleted) => held.afterDeletion(deleted));
}

async function deleteKeys(
  { store, guard }: GuardedStore,
  deletes: readonly Bytes[],
): Promise<void> {
  await store.ingest({ entries: [], deletes, floor: 0, guard });
}

/**
 * The keys in which two stores differ, compared page by page. Keys that are written meanwhile may
 * be among them.
 */
export async function differingKeys(
  source: GuardedStore,
  target: GuardedStore,
  { data, entriesMax, onPage }: { data: KeyRange; entriesMax: number; onPage: () => Promise<void> },
): Promise<readonly SizedKey[]> {
  const differing: SizedKey[] = [];
  const page = { limit: entriesMax, bytesMax: pageBytesMax };
  const parts = comparedParts(compared(source), compared(target), { range: data, page });
  for await (const part of parts) {
    differing.push(...part.differing);
    await onPage();
  }
  return differing;
}

/** Reads some keys again and returns those in which two stores differ. */
export function keysStillDiffering(
  source: GuardedStore,
  target: GuardedTarget,
  keys: readonly SizedKey[],
): Promise<readonly SizedKey[]> {
  return stillDiffering(compared(source), compared(target), keys);
}

function compared({ store, guard }: GuardedTarget): ComparedStore {
  return {
    range: (range, options) => store.range(range, { ...options, guard }),
    getMany: (keys) => store.getMany(keys, { guard }),
  };
}

function guardOf({ guard }: Target): Guarded {
  return guard === undefined ? {} : { guard };
}
