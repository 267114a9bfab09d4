import { compareBytes, type Bytes } from '../base/bytes.js';
import type { Clock } from '../base/clock.js';
import type { Timers } from '../base/async/timers.js';
import type { MemberStore } from '../kv/member-store.js';
import { pagesOf } from '../kv/pages.js';
import type { Candidate, Decision } from '../kv/store.js';
import { decodeTuple, keyAfter } from '../kv/tuple.js';
import type { Catalogue } from './catalogue.js';
import type { ComparedUntil, Finding, NotCompared } from './findings.js';
import { guardRows } from './keys.js';
import type { Members } from './members.js';
import { isMember } from './membership.js';
import { dataOf, sharedPart } from './range-map.js';
import { answered } from './reach.js';
import {
  decodeGuardRow,
  newRangesOf,
  type GuardRow,
  type RangeRow,
  type Versioned,
} from './rows.js';

/** An operation counts as abandoned this long after its lease has expired, in microseconds. */
const abandonedMicros = 60_000_000;
/** Keys that one call reads. */
const keysEach = 1_000;

export interface VerifyOptions {
  /** One that does not wait for a silent home store: see `answeringCatalogue`. */
  readonly catalogue: Catalogue;
  readonly members: Members;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Verifies only this range. Default: all. */
  readonly range?: number;
  /** The greatest version that a store has given out. Default: versions are not compared. */
  readonly lastVersionOf?: (store: string) => Promise<number>;
  /** What was compared before, and is left out. Default: nothing. */
  readonly after?: ComparedUntil | undefined;
  /** What was found there. Default: nothing. */
  readonly found?: readonly Finding[];
  /** Called when so much is compared, with what was found since the last call. */
  readonly onCompared?: (until: ComparedUntil, found: readonly Finding[]) => Promise<void>;
  /** Called after each step with the number of keys that it read. */
  readonly onKeys?: (keys: number) => Promise<void> | void;
}

/**
 * Compares the catalogue with the guards and, key by key, the data of all stores. Changes nothing.
 * Ranges may split, move and be backed up meanwhile: a finding about a range counts only when no
 * operation has worked on the range during the comparison. Ranges that could not be compared for
 * that reason are tried once more in the end, and are findings when an operation works on them
 * then. Rejects with `StoreDamagedError` when the ranges of the catalogue do not cover the key
 * space, and with `StoreUnavailableError` when a store is silent.
 */
export async function verify(options: VerifyOptions): Promise<readonly Finding[]> {
  const { catalogue, members, timers, range: only, found = [] } = options;
  const findings: Finding[] = [...found];
  for (const { name } of (await catalogue.stores()).map(({ row }) => row)) {
    if (isCompared(name, options)) continue;
    if (members.has(name) && (await isMember(members, name, timers))) {
      for await (const part of comparedParts(name, options)) findings.push(...part);
    } else if ((await catalogue.store(name)) !== undefined) {
      // The store is still in the catalogue, so it was not removed meanwhile.
      const mismatch: Finding = { kind: 'location mismatch', store: name };
      findings.push(mismatch);
      await options.onCompared?.({ store: name, key: undefined }, [mismatch]);
    }
  }
  findings.push(...(await abandonedOperations(options)));
  const about = findings.filter((finding) => only === undefined || isAbout(finding, only));
  const left = about.filter(isNotCompared);
  const compared = about.filter((finding) => !isNotCompared(finding));
  return left.length === 0
    ? compared
    : [...compared, ...(await comparedAgain({ left, compared }, options))];
}

function isNotCompared(finding: Finding): finding is NotCompared {
  return finding.kind === 'not compared';
}

/** Compares what could not be compared before; operations on it may be over. */
async function comparedAgain(
  before: { readonly left: readonly NotCompared[]; readonly compared: readonly Finding[] },
  options: VerifyOptions,
): Promise<readonly Finding[]> {
  const { left, compared } = before;
  const { catalogue, members, timers } = options;
  const findings: Finding[] = [];
  for (const store of new Set(left.map((each) => each.store))) {
    const own = left.filter((each) => each.store === store);
    if (!members.has(store) || !(await isMember(members, store, timers))) {
      // A store that was removed meanwhile has no data of this key space.
      if ((await catalogue.store(store)) !== undefined) findings.push(...own);
      continue;
    }
    const ranges = (await catalogue.map()).ranges.filter((range) =>
      own.some((each) => sharedPart(each, dataOf(range)) !== undefined),
    );
    for (const guard of await guardFindings(store, options)) {
      const isOf = ranges.some(({ id }) => 'range' in guard && guard.range === id);
      if (isOf && !compared.some((each) => isSame(each, guard))) findings.push(guard);
    }
    for (const range of ranges) findings.push(...(await dataFindings(store, range, options)));
  }
  return findings;
}

function isSame(left: Finding, right: Finding): boolean {
  if (!('range' in left && 'range' in right && 'store' in left && 'store' in right)) return false;
  const { kind, range, store } = left;
  return kind === right.kind && range === right.range && store === right.store;
}

/** A store that was not compared may have data of any range. */
function isAbout(finding: Finding, range: number): boolean {
  return 'range' in finding ? finding.range === range : finding.kind === 'location mismatch';
}

/** Whether all of a store was compared before. */
function isCompared(name: string, { after }: Pick<VerifyOptions, 'after'>): boolean {
  if (after === undefined || name > after.store) return false;
  return name < after.store || after.key === undefined;
}

/** The findings of a store: guards, then range after range, behind those that were compared. */
async function* comparedParts(
  store: string,
  options: VerifyOptions,
): AsyncGenerator<readonly Finding[]> {
  const { after, onCompared } = options;
  const from = after?.store === store ? after.key : undefined;
  let findings = from === undefined ? [...(await guardFindings(store, options))] : [];
  for (const range of (await options.catalogue.map()).ranges) {
    const { id, end } = range;
    if ((options.range ?? id) !== id) continue;
    if (from !== undefined && end !== undefined && compareBytes(end, from) <= 0) continue;
    findings.push(...(await dataFindings(store, range, options)));
    await onCompared?.({ store, key: end }, findings);
    yield findings;
    findings = [];
  }
  yield findings;
}

async function abandonedOperations({
  catalogue,
  clock,
}: VerifyOptions): Promise<readonly Finding[]> {
  const nowMicros = clock.nowMicros();
  return (await catalogue.operations())
    .filter(({ row }) => row.leaseUntil + abandonedMicros <= nowMicros)
    .map(({ row }) => ({ kind: 'abandoned operation', operation: row.id }));
}

async function guardFindings(store: string, options: VerifyOptions): Promise<readonly Finding[]> {
  const { catalogue } = options;
  // The order of these reads matters. Ids between the two values of `nextId` belong to operations
  // that begin meanwhile. The new ranges of an operation that began before are in its row, or in
  // the map, which is read after it.
  const before = (await catalogue.mapRow()).row.nextId;
  const pending = new Set((await catalogue.operations()).flatMap(({ row }) => newRangesOf(row)));
  const ranges = new Map((await catalogue.ranges()).map((range) => [range.row.id, range]));
  const guards = await guardsOf(store, options);
  const after = (await catalogue.mapRow()).row.nextId;
  const findings: Finding[] = [];
  for (const [id, { state }] of guards) {
    const range = ranges.get(id);
    const isNew = pending.has(id) || (id >= before && id < after);
    if (range === undefined ? isNew : range.row.store === store) continue;
    const serves = state !== 'incoming' && state !== 'moved';
    if (await isAtRest(range, catalogue)) {
      findings.push({ kind: 'stray guard', range: id, store, serves });
    }
  }
  for (const [id, range] of ranges) {
    if (range.row.store !== store || guards.get(id)?.state === 'serving') continue;
    if (await isAtRest(range, catalogue)) findings.push({ kind: 'no guard', range: id, store });
  }
  return findings;
}

/**
 * Whether no operation has worked on a range since its row was read: every operation writes that
 * row. True for a range that no longer exists.
 */
async function isAtRest(
  range: Versioned<RangeRow> | undefined,
  catalogue: Catalogue,
): Promise<boolean> {
  if (range === undefined) return true;
  if (range.row.operation !== 0) return false;
  return (await catalogue.range(range.row.id))?.version === range.version;
}

async function guardsOf(
  store: string,
  options: VerifyOptions,
): Promise<ReadonlyMap<number, GuardRow>> {
  const guards = new Map<number, GuardRow>();
  const reader = { range: readerOf(store, options) };
  for await (const entries of pagesOf(reader, guardRows, { limit: keysEach, bytesMax: 1 << 20 })) {
    for (const { key, value } of entries) {
      guards.set(Number(decodeTuple(key).at(-1)), decodeGuardRow(value));
    }
  }
  return guards;
}

/**
 * Checks the data of a range in a store. A store that has the range may have them all, any other
 * store none. `known`: the range as the map had it.
 */
async function dataFindings(
  store: string,
  known: RangeRow,
  options: VerifyOptions,
): Promise<readonly Finding[]> {
  const { catalogue, lastVersionOf } = options;
  const { id } = known;
  const range = await catalogue.range(id);
  const isOwn = range?.row.store === store;
  if (isOwn && lastVersionOf === undefined) return [];
  const notCompared = (operation: number): Finding => {
    return { kind: 'not compared', store, range: id, operation, ...dataOf(known) };
  };
  if (range === undefined) return [notCompared(0)];
  if (range.row.operation !== 0) return [notCompared(range.row.operation)];
  const { keys, first, version } = await lookAtData(store, range.row, options);
  if (first === undefined) return [];
  const at = { range: id, store };
  if (!isOwn) {
    const found: Finding = { kind: 'stray data', ...at, keys, first };
    return [(await isAtRest(range, catalogue)) ? found : notCompared(0)];
  }
  // Read after the data, so that it includes the commits that were made meanwhile.
  const last = await lastOf(store, version, options);
  if (version <= last) return [];
  const found: Finding = { kind: 'version ahead', ...at, version, last };
  return [(await isAtRest(range, catalogue)) ? found : notCompared(0)];
}

/** The greatest version that a store has given out; `otherwise` when nobody knows it. */
async function lastOf(
  store: string,
  otherwise: number,
  { lastVersionOf, timers }: VerifyOptions,
): Promise<number> {
  if (lastVersionOf === undefined) return otherwise;
  return answered(lastVersionOf(store), { store, timers });
}

/** Reads pages of a store, which must not be silent. */
function readerOf(store: string, { members, timers }: VerifyOptions): MemberStore['range'] {
  return (range, options) =>
    answered(members.named(store).range(range, options), { store, timers, isLong: true });
}

interface SeenData {
  readonly keys: number;
  readonly first: Bytes | undefined;
  /** The greatest of all entries. */
  readonly version: number;
}

async function lookAtData(
  store: string,
  range: RangeRow,
  options: VerifyOptions,
): Promise<SeenData> {
  const read = readerOf(store, options);
  let keys = 0;
  let first: Bytes | undefined;
  let version = 0;
  let isOver = false;
  for (let rest = dataOf(range); !isOver;) {
    let seen = 0;
    let last: Bytes | undefined;
    const filter = (candidate: Candidate): Decision => {
      if (seen === keysEach) return 'stop';
      seen += 1;
      last = Buffer.from(candidate.key);
      first ??= last;
      version = Math.max(version, candidate.version);
      return 'skip';
    };
    const page = await read(rest, { limit: 1, bytesMax: 0, filter });
    keys += seen;
    await options.onKeys?.(seen);
    isOver = !page.more;
    if (last !== undefined) rest = { ...rest, start: keyAfter(last) };
  }
  return { keys, first, version };
}
