import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { addToCounter } from '../../kv/counter.js';
import { StoreClosedError } from '../../kv/errors.js';
import { assertBatch, assertKey, assertRangeOptions } from '../../kv/limits.js';
import {
  guardRefusal,
  type Guard,
  type Guarded,
  type GuardedBatch,
  type GuardedRangeOptions,
} from '../../kv/guards.js';
import { assertIngestion, floorOf, type Ingestion } from '../../kv/ingestion.js';
import type { InstantVersions } from '../../kv/instant-versions.js';
import type { MemberStore } from '../../kv/member-store.js';
import { sampleByReading, type RangeSample, type SampleOptions } from '../../kv/sample.js';
import type { ServedStore, StoreSpace } from '../../kv/served-store.js';
import type { SnapshotStore, StoreSnapshot } from '../../kv/snapshots.js';
import type {
  Candidate,
  CommitBatch,
  CommitResult,
  Entry,
  KeyRange,
  Put,
  RangePage,
} from '../../kv/store.js';
import { SortedByKey } from '../../base/sorted-by-key.js';

export interface MemoryStoreOptions {
  readonly clock: Clock;
}

/** A store in memory that is empty again after `close`; the reference for other engines. */
export function openMemoryStore(options: MemoryStoreOptions): Promise<MemoryStore> {
  return Promise.resolve(new MemoryStore(options.clock));
}

/** Entries are immutable, so a snapshot shares them with the store. */
class MemorySnapshot implements StoreSnapshot {
  readonly content: SortedByKey<Entry>;
  readonly entries: number;

  constructor(content: SortedByKey<Entry>) {
    this.content = content;
    this.entries = content.size;
  }
}

export class MemoryStore implements MemberStore, ServedStore, SnapshotStore, InstantVersions {
  readonly versionsGlobal = true;
  readonly #clock: Clock;
  #entries = new SortedByKey<Entry>();
  #lastVersion = 0;
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async get(key: Bytes, { guard }: Guarded = {}): Promise<Entry | undefined> {
    this.#assertOpen();
    assertKey(key);
    this.#assertGuard(guard);
    return this.#entries.get(key);
  }

  versionNow(key: Bytes): number | undefined {
    this.#assertOpen();
    assertKey(key);
    return this.#entries.get(key)?.version;
  }

  async getMany(keys: readonly Bytes[], { guard }: Guarded = {}): Promise<(Entry | undefined)[]> {
    this.#assertOpen();
    this.#assertGuard(guard);
    for (const key of keys) assertKey(key);
    return keys.map((key) => this.#entries.get(key));
  }

  async range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage> {
    this.#assertOpen();
    assertRangeOptions(options);
    this.#assertGuard(options.guard);
    const found =
      options.reverse === true ? this.#entries.backward(range) : this.#entries.forward(range);
    const entries: Entry[] = [];
    let bytes = 0;
    for (const entry of found) {
      const candidate = candidateOf(entry);
      const decision = options.filter?.(candidate) ?? 'take';
      if (decision === 'stop') return { entries, more: true };
      if (decision === 'use') options.use?.(candidate);
      if (decision !== 'take') continue;
      bytes += entry.key.length + entry.value.length;
      const full = entries.length >= options.limit || bytes > options.bytesMax;
      if (full && entries.length > 0) return { entries, more: true };
      entries.push(entry);
    }
    return { entries, more: false };
  }

  async commit(batch: GuardedBatch): Promise<CommitResult> {
    this.#assertOpen();
    assertBatch(batch);
    this.#assertGuard(batch.guard);
    for (const [index, check] of batch.checks.entries()) {
      const actual = this.#entries.get(check.key)?.version ?? 'absent';
      const holds = check.version === 'present' ? actual !== 'absent' : actual === check.version;
      if (!holds) return { ok: false, failedCheck: index, actual };
    }
    // Computed before any write, because an addition may be refused.
    const sums = batch.adds?.map(({ key, delta }) => ({
      key,
      value: addToCounter(this.#entries.get(key)?.value, delta),
    }));
    for (const { key, isNew } of batch.puts) {
      invariant(isNew !== true || this.#entries.get(key) === undefined, 'a new key is absent');
    }
    const version = Math.max(this.#clock.nowMicros(), this.#lastVersion + 1);
    this.#lastVersion = version;
    for (const key of batch.deletes) this.#entries.delete(key);
    this.#put(batch.puts, version);
    if (sums !== undefined) this.#put(sums, version);
    return { ok: true, version };
  }

  /** Commits are synchronous, so none is in progress that saw an older guard. */
  fence(batch: CommitBatch): Promise<CommitResult> {
    return this.commit(batch);
  }

  async ingest(ingestion: Ingestion): Promise<void> {
    this.#assertOpen();
    assertIngestion(ingestion);
    this.#assertGuard(ingestion.guard);
    for (const key of ingestion.deletes) this.#entries.delete(key);
    for (const entry of ingestion.entries) this.#put([entry], entry.version);
    this.#lastVersion = Math.max(this.#lastVersion, floorOf(ingestion));
  }

  async sample(range: KeyRange, cuts: number, options?: SampleOptions): Promise<RangeSample> {
    return sampleByReading(this, range, { ...options, cuts, clock: this.#clock });
  }

  async lastVersion(): Promise<number> {
    this.#assertOpen();
    return this.#lastVersion;
  }

  async takeSnapshot(): Promise<StoreSnapshot> {
    this.#assertOpen();
    return new MemorySnapshot(this.#entries.copy());
  }

  async restoreSnapshot(snapshot?: StoreSnapshot, beside: readonly Entry[] = []): Promise<void> {
    this.#assertOpen();
    const entries = snapshot === undefined ? new SortedByKey<Entry>() : contentOf(snapshot);
    for (const entry of beside) entries.put(entry);
    this.#entries = entries;
  }

  space(): StoreSpace {
    return { reusableBytes: 0, owedBytes: 0 };
  }

  trouble(): undefined {
    return undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  #put(puts: readonly Put[], version: number): void {
    for (const { key, value } of puts) {
      // Copies, because the given bytes may be a small part of a large buffer.
      this.#entries.put({ key: Buffer.from(key), value: Buffer.from(value), version });
    }
  }

  #assertGuard(guard: Guard | undefined): void {
    if (guard === undefined) return;
    assertKey(guard.key);
    const refusal = guardRefusal(guard, this.#entries.get(guard.key)?.version ?? 'absent');
    if (refusal !== undefined) throw refusal;
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreClosedError();
  }
}

function candidateOf({ key, value, version }: Entry): Candidate {
  return { key, value, valueLength: value.length, version };
}

function contentOf(snapshot: StoreSnapshot): SortedByKey<Entry> {
  invariant(snapshot instanceof MemorySnapshot, 'a snapshot of this engine');
  return snapshot.content.copy();
}
