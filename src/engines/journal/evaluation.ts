import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { addToCounter } from '../../kv/counter.js';
import { type GuardError } from '../../kv/errors.js';
import { guardRefusal, type GuardedBatch } from '../../kv/guards.js';
import { floorOf, type Ingestion } from '../../kv/ingestion.js';
import type { CommitResult, Entry } from '../../kv/store.js';
import type { Change } from './frame.js';

/** What waits to be written: a commit of the contract, or entries that keep their versions. */
export type Work =
  | { readonly kind: 'commit'; readonly batch: GuardedBatch }
  | { readonly kind: 'ingest'; readonly ingestion: Ingestion };

export type Outcome = CommitResult | GuardError;

/** What is at a key before any work of the group. */
export type Found = Pick<Entry, 'value' | 'version'> | undefined;

/** The keys whose content decides what comes of a piece of work, in this order. */
export function keysOf(work: Work): readonly Bytes[] {
  if (work.kind === 'ingest') {
    return work.ingestion.guard === undefined ? [] : [work.ingestion.guard.key];
  }
  const { guard, checks, adds = [] } = work.batch;
  const keys = checks.map(({ key }) => key);
  for (const { key } of adds) keys.push(key);
  if (guard !== undefined) keys.push(guard.key);
  return keys;
}

/** A change, and whether its key was known to be nowhere before. */
export interface Evaluated extends Change {
  readonly isNew: boolean;
}

/**
 * Tries the work of a group, one piece after the other, each upon the changes of those before it.
 * Nothing is changed by it. Versions rise by it.
 */
export class Evaluation {
  readonly changes: Evaluated[] = [];
  lastVersion: number;
  readonly #nowMicros: () => number;
  /** The last change of each key, where later work of the group may ask for it. */
  readonly #changed: Map<string, Found> | undefined;

  constructor(options: {
    readonly lastVersion: number;
    readonly nowMicros: () => number;
    readonly isOfOne: boolean;
  }) {
    this.lastVersion = options.lastVersion;
    this.#nowMicros = options.nowMicros;
    this.#changed = options.isOfOne ? undefined : new Map();
  }

  /** `found`: what is at `keysOf(work)`. */
  evaluate(work: Work, found: readonly Found[]): Outcome {
    return work.kind === 'commit'
      ? this.#commit(work.batch, found)
      : this.#ingest(work.ingestion, found);
  }

  #commit(batch: GuardedBatch, found: readonly Found[]): Outcome {
    const { guard, checks, puts, deletes, adds = [] } = batch;
    if (guard !== undefined) {
      const at = checks.length + adds.length;
      const refusal = guardRefusal(guard, this.#versionAt(guard.key, found[at]));
      if (refusal !== undefined) return refusal;
    }
    const absent = new Set<Bytes>();
    for (const [index, { key, version }] of checks.entries()) {
      const actual = this.#versionAt(key, found[index]);
      const holds = version === 'present' ? actual !== 'absent' : actual === version;
      if (!holds) return { ok: false, failedCheck: index, actual };
      if (actual === 'absent') absent.add(key);
    }
    // Before anything is written: an addition may be refused.
    const sums = adds.map(({ key, delta }, index) => {
      const before = this.#at(key, found[checks.length + index]);
      return addToCounter(before?.value, delta);
    });
    const version = Math.max(this.#nowMicros(), this.lastVersion + 1);
    this.lastVersion = version;
    for (const key of deletes) this.#change({ key, value: undefined, version, isNew: false });
    for (const { key, value } of puts) {
      this.#change({ key, value, version, isNew: absent.has(key) });
    }
    for (const [index, { key }] of adds.entries()) {
      this.#change({ key, value: sums[index], version, isNew: false });
    }
    return { ok: true, version };
  }

  #ingest(ingestion: Ingestion, [found]: readonly Found[]): Outcome {
    const { guard, deletes, entries } = ingestion;
    if (guard !== undefined) {
      const refusal = guardRefusal(guard, this.#versionAt(guard.key, found));
      if (refusal !== undefined) return refusal;
    }
    this.lastVersion = Math.max(this.lastVersion, floorOf(ingestion));
    const version = this.lastVersion;
    for (const key of deletes) this.#change({ key, value: undefined, version, isNew: false });
    for (const entry of entries) this.#change({ ...entry, isNew: false });
    return { ok: true, version };
  }

  #change(change: Evaluated): void {
    this.changes.push(change);
    if (this.#changed === undefined) return;
    const { key, value, version } = change;
    this.#changed.set(nameOfBytes(key), value === undefined ? undefined : { value, version });
  }

  #versionAt(key: Bytes, found: Found): number | 'absent' {
    return this.#at(key, found)?.version ?? 'absent';
  }

  #at(key: Bytes, found: Found): Found {
    if (this.#changed === undefined || this.#changed.size === 0) return found;
    const name = nameOfBytes(key);
    const changed = this.#changed.get(name);
    return changed !== undefined || this.#changed.has(name) ? changed : found;
  }
}
