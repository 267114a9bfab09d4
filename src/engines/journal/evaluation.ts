import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { addToCounter } from '../../kv/counter.js';
import { type GuardError } from '../../kv/errors.js';
import { guardRefusal, type GuardedBatch } from '../../kv/guards.js';
import { floorOf, type Ingestion } from '../../kv/ingestion.js';
import type { Work } from '../../kv/pending-commits.js';
import type { Add, CommitResult } from '../../kv/store.js';
import type { Change } from './frame-change.js';

export type Outcome = CommitResult | GuardError;

/** The entry of a key before the group; undefined when there is none. */
export type Found = Pick<Change, 'value' | 'version'> | undefined;

/** Appends the keys that the outcome of the work depends on: those of checks, adds and guard. */
export function addKeysOf(work: Work, keys: Bytes[]): void {
  if (work.kind === 'ingest') {
    if (work.ingestion.guard !== undefined) keys.push(work.ingestion.guard.key);
    return;
  }
  const { guard, checks, adds } = work.batch;
  for (const { key } of checks) keys.push(key);
  if (adds !== undefined) for (const { key } of adds) keys.push(key);
  if (guard !== undefined) keys.push(guard.key);
}

export interface Evaluated extends Change {
  /** True when the key is known not to have existed before. */
  readonly isNew: boolean;
  /** `nameOfBytes` of the key. */
  readonly name: string;
}

/**
 * Evaluates the work of a group in order: each piece sees the changes of those before it. Collects
 * the changes and assigns their versions, but applies nothing.
 */
export class Evaluation {
  readonly changes: Evaluated[] = [];
  lastVersion: number;
  readonly #nowMicros: () => number;
  /** The entries of all keys of the group, in order, and how many of them were used so far. */
  readonly #found: readonly Found[];
  #asked = 0;
  /** Where each key so far has its change. Absent for a group of one, which needs none. */
  readonly #places: Map<string, number> | undefined;

  /** `found`: the entries at the keys from `addKeysOf`, for all work of the group in order. */
  constructor(options: {
    readonly lastVersion: number;
    readonly nowMicros: () => number;
    readonly found: readonly Found[];
    readonly isOfOne: boolean;
  }) {
    this.lastVersion = options.lastVersion;
    this.#nowMicros = options.nowMicros;
    this.#found = options.found;
    this.#places = options.isOfOne ? undefined : new Map();
  }

  /** The outcome of the next piece of work. Called once for each, in order. */
  evaluate(work: Work): Outcome {
    const from = this.#asked;
    if (work.kind === 'ingest') {
      if (work.ingestion.guard !== undefined) this.#asked += 1;
      return this.#ingest(work.ingestion, from);
    }
    const { checks, adds, guard } = work.batch;
    this.#asked += checks.length + (adds?.length ?? 0) + (guard === undefined ? 0 : 1);
    return this.#commit(work.batch, from);
  }

  #commit({ guard, checks, puts, deletes, adds = noAdds }: GuardedBatch, from: number): Outcome {
    if (guard !== undefined) {
      const actual = this.#versionAt(guard.key, from + checks.length + adds.length);
      const refusal = guardRefusal(guard, actual);
      if (refusal !== undefined) return refusal;
    }
    const absent: Bytes[] = [];
    for (const [index, { key, version }] of checks.entries()) {
      const actual = this.#versionAt(key, from + index);
      const holds = version === 'present' ? actual !== 'absent' : actual === version;
      if (!holds) return { ok: false, failedCheck: index, actual };
      if (actual === 'absent') absent.push(key);
    }
    // Computed before any change is noted, because an addition may be refused.
    const sums = adds.map(({ key, delta }, index) => {
      const before = this.#at(key, from + checks.length + index);
      return addToCounter(before?.value, delta);
    });
    const version = Math.max(this.#nowMicros(), this.lastVersion + 1);
    this.lastVersion = version;
    for (const key of deletes) this.#change(key, undefined, version, false);
    const isAbsent = absenceOf(absent);
    for (const { key, value, isNew = isAbsent(key) } of puts) {
      this.#change(key, value, version, isNew);
    }
    for (const [index, { key }] of adds.entries()) this.#change(key, sums[index], version, false);
    return { ok: true, version };
  }

  #ingest({ guard, deletes, entries, floor }: Ingestion, from: number): Outcome {
    if (guard !== undefined) {
      const refusal = guardRefusal(guard, this.#versionAt(guard.key, from));
      if (refusal !== undefined) return refusal;
    }
    this.lastVersion = Math.max(this.lastVersion, floorOf({ entries, floor }));
    const version = this.lastVersion;
    for (const key of deletes) this.#change(key, undefined, version, false);
    for (const each of entries) this.#change(each.key, each.value, each.version, false);
    return { ok: true, version };
  }

  #change(key: Bytes, value: Bytes | undefined, version: number, isNew: boolean): void {
    const name = nameOfBytes(key);
    const place = this.#places?.get(name);
    const before = place === undefined ? undefined : this.changes[place];
    if (before !== undefined && place !== undefined) {
      // The group is applied as one, so nobody can see the change before.
      this.changes[place] = { ...before, value, version };
      return;
    }
    this.#places?.set(name, this.changes.length);
    this.changes.push({ key, value, version, isNew, name });
  }

  #versionAt(key: Bytes, asked: number): number | 'absent' {
    return this.#at(key, asked)?.version ?? 'absent';
  }

  #at(key: Bytes, asked: number): Found {
    const found = this.#found[asked];
    if (this.#places === undefined || this.#places.size === 0) return found;
    const place = this.#places.get(nameOfBytes(key));
    const change = place === undefined ? undefined : this.changes[place];
    if (change === undefined) return found;
    return change.value === undefined ? undefined : change;
  }
}

const noAdds: readonly Add[] = [];

/** Whether a key was checked to be absent. Compares objects, not bytes: there is mostly one. */
function absenceOf(absent: readonly Bytes[]): (key: Bytes) => boolean {
  if (absent.length <= 1) return (key) => key === absent[0];
  const all = new Set(absent);
  return (key) => all.has(key);
}
