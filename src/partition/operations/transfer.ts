import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { comparedParts, stillDiffering, type ComparedStore } from '../../kv/differences.js';
import type { Guard, Guarded } from '../../kv/guards.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { Candidate, Decision, Entry, KeyRange } from '../../kv/store.js';
import { keyAfter } from '../../kv/tuple.js';
import { dirtyRows, progressKey } from '../keys.js';
import { decodeKeys } from '../rows.js';

/** A page has that many bytes at most, or one entry. */
const pageBytesMax = 1 << 20;
/** Keys that one call deletes, at most. */
const deletedKeysMax = 1_000;

/** A store and the guard that the process may use there. */
export interface Place {
  readonly store: MemberStore;
  readonly guard: Guard;
}

/** Where entries go. One without guard is no member: nobody else writes there. */
export interface Target {
  readonly store: MemberStore;
  readonly guard?: Guard;
}

/** The versions of rows that only say how far a process is do not matter. */
const progressVersion = 1;

/**
 * Copies pages of a range behind what was copied before, `pagesMax` at most. While one is written,
 * the next one is read. How far it is stands at the target, in the same write as the entries.
 * `onPage` is told of the bytes of each.
 */
export async function copyPages(
  source: Place,
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
 * Brings to the target what commits have noted as written, a page of notes at most. Returns how
 * many notes there were. The notes are read before the keys, so a later commit leaves another note.
 */
export async function catchUp(
  source: Place,
  target: Target,
  { range, entriesMax }: { range: number; entriesMax: number },
): Promise<number> {
  const notes = await source.store.range(dirtyRows(range), {
    limit: entriesMax,
    bytesMax: pageBytesMax,
    guard: source.guard,
  });
  if (notes.entries.length === 0) return 0;
  await bringNoted(source, target, notes.entries, entriesMax);
  await deleteKeys(
    source,
    notes.entries.map(({ key }) => key),
  );
  return notes.entries.length;
}

/**
 * As `catchUp` where commits leave no notes any more: brings all of them, and leaves the notes. False
 * when that takes too long: then some are left.
 */
export async function bringLastNotes(
  source: Place,
  target: Target,
  part: { readonly range: number; readonly entriesMax: number; readonly isTooLong: () => boolean },
): Promise<boolean> {
  const { range, entriesMax, isTooLong } = part;
  const all = dirtyRows(range);
  for (let rest = all; ;) {
    const options = { limit: entriesMax, bytesMax: pageBytesMax, guard: source.guard };
    const { entries, more } = await source.store.range(rest, options);
    await bringNoted(source, target, entries, entriesMax);
    const last = entries.at(-1);
    if (!more || last === undefined) return true;
    if (isTooLong()) return false;
    rest = { ...all, start: keyAfter(last.key) };
  }
}

/** Later versions of a store exceed the floor. */
export async function raiseFloor({ store, guard }: Place, floor: number): Promise<void> {
  await store.ingest({ entries: [], deletes: [], floor, guard });
}

/** The target gets the keys that notes tell. */
async function bringNoted(
  source: Place,
  target: Target,
  notes: readonly Entry[],
  entriesMax: number,
): Promise<void> {
  const keys = new Map<string, Bytes>();
  for (const { value } of notes) {
    for (const key of decodeKeys(value)) keys.set(nameOfBytes(key), key);
  }
  const all = [...keys.values()];
  for (let at = 0; at < all.length; at += entriesMax) {
    await bring(source, target, all.slice(at, at + entriesMax));
  }
}

/** The target gets keys as the source has them by now. */
async function bring(source: Place, target: Target, keys: readonly Bytes[]): Promise<void> {
  const found = await source.store.getMany(keys, { guard: source.guard });
  await target.store.ingest({
    entries: found.filter((entry) => entry !== undefined),
    deletes: keys.filter((_, index) => found[index] === undefined),
    floor: 0,
    ...guardOf(target),
  });
}

/** Deletes all keys of an interval, in guarded steps. `onStep` is called after each but the last. */
export async function emptyOut(
  { store, guard }: Place,
  keys: KeyRange,
  onStep: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
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
    if (last !== undefined) await deleteKeys({ store, guard }, found);
    if (!page.more || last === undefined) return;
    // What is deleted need not be passed over again.
    rest = { ...keys, start: keyAfter(last) };
    await onStep();
  }
}

async function deleteKeys({ store, guard }: Place, deletes: readonly Bytes[]): Promise<void> {
  await store.ingest({ entries: [], deletes, floor: 0, guard });
}

/**
 * Keys in which two stores differ, compared page by page. Keys that were written meanwhile may be
 * among them.
 */
export async function differingKeys(
  source: Place,
  target: Place,
  { data, entriesMax, onPage }: { data: KeyRange; entriesMax: number; onPage: () => Promise<void> },
): Promise<readonly Bytes[]> {
  const differing: Bytes[] = [];
  const page = { limit: entriesMax, bytesMax: pageBytesMax };
  const parts = comparedParts(compared(source), compared(target), { range: data, page });
  for await (const { puts, deletes } of parts) {
    differing.push(...puts.map(({ key }) => key), ...deletes);
    await onPage();
  }
  return differing;
}

/** Reads some keys again and returns those in which two stores differ. */
export function keysStillDiffering(
  source: Place,
  target: Place,
  keys: readonly Bytes[],
): Promise<readonly Bytes[]> {
  return stillDiffering(compared(source), compared(target), keys);
}

function compared({ store, guard }: Place): ComparedStore {
  return {
    range: (range, options) => store.range(range, { ...options, guard }),
    getMany: (keys) => store.getMany(keys, { guard }),
  };
}

function guardOf({ guard }: Target): Guarded {
  return guard === undefined ? {} : { guard };
}
