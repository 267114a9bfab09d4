import type { Bytes } from '../base/bytes.js';
import type { Clock } from '../base/clock.js';
import type { MemberStore } from '../kv/member-store.js';
import { pagesOf } from '../kv/pages.js';
import type { Candidate, Decision } from '../kv/store.js';
import { decodeTuple, keyAfter } from '../kv/tuple.js';
import type { Catalogue } from './catalogue.js';
import { guardRows } from './keys.js';
import type { Members } from './members.js';
import { isMember } from './membership.js';
import { dataOf, type RangeMap } from './range-map.js';
import { decodeGuardRow, type GuardRow, type OperationRow, type RangeRow } from './rows.js';

/** An operation counts as abandoned this long after its lease has expired, in microseconds. */
const abandonedMicros = 60_000_000;
/** Keys that one call reads. */
const keysEach = 1_000;

/** A fault of the key space. Ranges that an operation works on are left out. */
export type Finding =
  | { readonly kind: 'abandoned operation'; readonly operation: number }
  /**
   * What this process has opened by the name of a store is no member of the key space, or it has
   * opened nothing: the store was not compared.
   */
  | { readonly kind: 'another place'; readonly store: string }
  /** The store that has the range does not serve it. */
  | { readonly kind: 'no guard'; readonly range: number; readonly store: string }
  /** A guard that the catalogue does not explain. It serves nobody, unless `serves`. */
  | {
      readonly kind: 'stray guard';
      readonly range: number;
      readonly store: string;
      readonly serves: boolean;
    }
  /** Data in a store that does not have their range: nobody reads them. */
  | {
      readonly kind: 'stray data';
      readonly range: number;
      readonly store: string;
      readonly keys: number;
      readonly first: Bytes;
    }
  /** An entry whose version exceeds the greatest one that its store has given out. */
  | {
      readonly kind: 'version ahead';
      readonly range: number;
      readonly store: string;
      readonly version: number;
      readonly last: number;
    };

export interface VerifyOptions {
  readonly catalogue: Catalogue;
  readonly members: Members;
  readonly clock: Clock;
  /** Verifies only this range. Default: all. */
  readonly range?: number;
  /** The greatest version that a store has given out. Default: versions are not compared. */
  readonly lastVersionOf?: (store: string) => Promise<number>;
  /** Called after each step with the number of keys that it read. */
  readonly onKeys?: (keys: number) => Promise<void> | void;
}

/**
 * Compares the catalogue with what all stores have: guards, and data key by key. Changes nothing.
 * Rejects with `StoreDamagedError` when the ranges of the catalogue do not cover the key space.
 */
export async function verify(options: VerifyOptions): Promise<readonly Finding[]> {
  const { catalogue, members, clock, range: only } = options;
  const findings: Finding[] = [];
  const map = await catalogue.map();
  for (const { row } of await catalogue.operations()) {
    if (row.leaseUntil + abandonedMicros > clock.nowMicros()) continue;
    findings.push({ kind: 'abandoned operation', operation: row.id });
  }
  for (const { row } of await catalogue.stores()) {
    const store = row.name;
    if (!members.has(store) || !(await isMember(members, store))) {
      findings.push({ kind: 'another place', store });
      continue;
    }
    findings.push(...(await guardFindings(store, members.named(store), map)));
    for (const range of map.ranges) {
      if (range.operation !== 0 || (only ?? range.id) !== range.id) continue;
      findings.push(...(await dataFindings(store, range, options)));
    }
  }
  // A range that changed during the comparison may look wrong, so its findings are dropped.
  const after = await catalogue.map();
  const isSame = new Set(after.ranges.map(identityOf));
  const changed = new Set(
    map.ranges.filter((range) => !isSame.has(identityOf(range))).map(({ id }) => id),
  );
  const pending = new Set((await catalogue.operations()).flatMap(({ row }) => newRangesOf(row)));
  return findings.filter((finding) => {
    if (!('range' in finding)) return only === undefined;
    const { range } = finding;
    if (only !== undefined && range !== only) return false;
    const isNew =
      map.byId(range) === undefined && (after.byId(range) !== undefined || pending.has(range));
    return !changed.has(range) && !isNew;
  });
}

/** The new ranges of an operation: they have guards before they are in the map. */
function newRangesOf(row: OperationRow): readonly number[] {
  if (row.kind === 'split') return [row.left, row.right];
  return row.kind === 'merge' ? [row.into] : [];
}

async function guardFindings(
  store: string,
  member: MemberStore,
  map: RangeMap,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const guards = await guardsOf(member);
  for (const [id, { state }] of guards) {
    const range = map.byId(id);
    if (range?.store === store || (range !== undefined && range.operation !== 0)) continue;
    const serves = state !== 'incoming' && state !== 'moved';
    findings.push({ kind: 'stray guard', range: id, store, serves });
  }
  for (const { id, store: owner, operation } of map.ranges) {
    if (owner !== store || operation !== 0) continue;
    if (guards.get(id)?.state !== 'serving') findings.push({ kind: 'no guard', range: id, store });
  }
  return findings;
}

async function guardsOf(member: MemberStore): Promise<ReadonlyMap<number, GuardRow>> {
  const guards = new Map<number, GuardRow>();
  for await (const entries of pagesOf(member, guardRows, { limit: keysEach, bytesMax: 1 << 20 })) {
    for (const { key, value } of entries) {
      guards.set(Number(decodeTuple(key).at(-1)), decodeGuardRow(value));
    }
  }
  return guards;
}

/** Data of a range in a store: all of them where it has the range, none elsewhere. */
async function dataFindings(
  store: string,
  range: RangeRow,
  { members, onKeys, lastVersionOf }: VerifyOptions,
): Promise<readonly Finding[]> {
  const isOwn = range.store === store;
  if (isOwn && lastVersionOf === undefined) return [];
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
    const page = await members.named(store).range(rest, { limit: 1, bytesMax: 0, filter });
    keys += seen;
    await onKeys?.(seen);
    isOver = !page.more;
    if (last !== undefined) rest = { ...rest, start: keyAfter(last) };
  }
  if (first === undefined) return [];
  const place = { range: range.id, store };
  if (!isOwn) return [{ kind: 'stray data', ...place, keys, first }];
  // Read after the data, so that it includes the commits that were made meanwhile.
  const last = (await lastVersionOf?.(store)) ?? version;
  return version > last ? [{ kind: 'version ahead', ...place, version, last }] : [];
}

function identityOf({ id, store, epoch, operation }: RangeRow): string {
  return `${id} ${store} ${epoch} ${operation}`;
}
