import { compareBytes, type Bytes } from '../base/bytes.js';
import type { Clock } from '../base/clock.js';
import type { MemberStore } from '../kv/member-store.js';
import type { Candidate, Decision } from '../kv/store.js';
import { decodeTuple, keyAfter } from '../kv/tuple.js';
import type { Catalogue } from './catalogue.js';
import { guardRows } from './keys.js';
import type { Members } from './members.js';
import { dataOf, type RangeMap } from './range-map.js';
import { decodeGuardRow, type GuardRow, type RangeRow } from './rows.js';

/** An operation that nobody has carried on for so long is told, in microseconds. */
const abandonedMicros = 60_000_000;
/** Keys of a store that are looked at in one call. */
const keysEach = 1_000;

/** What does not hold. Ranges that an operation works on are left out. */
export type Finding =
  | { readonly kind: 'abandoned operation'; readonly operation: number }
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
      readonly store: string;
      readonly keys: number;
      readonly first: Bytes;
    };

export interface VerifyOptions {
  readonly catalogue: Catalogue;
  readonly members: Members;
  readonly clock: Clock;
  /** Called after each step with the keys that were looked at since the last one. */
  readonly onKeys?: (keys: number) => void;
}

/**
 * Compares the catalogue with what all stores have: guards, and data key by key. Changes nothing.
 * Rejects with `StoreDamagedError` when the ranges of the catalogue do not cover the key space.
 */
export async function verify(options: VerifyOptions): Promise<readonly Finding[]> {
  const { catalogue, members, clock } = options;
  const findings: Finding[] = [];
  const map = await catalogue.map();
  for (const { row } of await catalogue.operations()) {
    if (row.leaseUntil + abandonedMicros > clock.nowMicros()) continue;
    findings.push({ kind: 'abandoned operation', operation: row.id });
  }
  for (const store of members.names) {
    findings.push(...(await guardFindings(store, members.named(store), map)));
    findings.push(...(await strayData(store, map, options)));
  }
  // What changed meanwhile may look wrong by half.
  const after = await catalogue.map();
  const isSame = new Set(after.ranges.map(identityOf));
  const changed = new Set(map.ranges.filter((range) => !isSame.has(identityOf(range))));
  return findings.filter((finding) => !concerns(finding, changed));
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
  let isOver = false;
  for (let rest = guardRows; !isOver;) {
    const page = await member.range(rest, { limit: keysEach, bytesMax: 1 << 20 });
    for (const { key, value } of page.entries) {
      guards.set(Number(decodeTuple(key).at(-1)), decodeGuardRow(value));
    }
    const last = page.entries.at(-1);
    isOver = !page.more || last === undefined;
    if (last !== undefined) rest = { ...guardRows, start: keyAfter(last.key) };
  }
  return guards;
}

/** Data in ranges that another store has and that no operation works on. */
async function strayData(
  store: string,
  map: RangeMap,
  { members, onKeys }: VerifyOptions,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const range of map.ranges) {
    if (range.store === store || range.operation !== 0) continue;
    let keys = 0;
    let first: Bytes | undefined;
    let isOver = false;
    for (let rest = dataOf(range); !isOver;) {
      let seen = 0;
      let last: Bytes | undefined;
      const filter = ({ key }: Candidate): Decision => {
        if (seen === keysEach) return 'stop';
        seen += 1;
        last = Buffer.from(key);
        first ??= last;
        return 'skip';
      };
      const page = await members.named(store).range(rest, { limit: 1, bytesMax: 0, filter });
      keys += seen;
      onKeys?.(seen);
      isOver = !page.more;
      if (last !== undefined) rest = { ...rest, start: keyAfter(last) };
    }
    if (first !== undefined) findings.push({ kind: 'stray data', store, keys, first });
  }
  return findings;
}

function identityOf({ id, store, epoch, operation }: RangeRow): string {
  return `${id} ${store} ${epoch} ${operation}`;
}

function concerns(finding: Finding, changed: ReadonlySet<RangeRow>): boolean {
  if (finding.kind === 'abandoned operation') return false;
  return [...changed].some((range) => {
    if (finding.kind !== 'stray data') return finding.range === range.id;
    const { start, end } = dataOf(range);
    return compareBytes(start, finding.first) <= 0 && compareBytes(finding.first, end) < 0;
  });
}
