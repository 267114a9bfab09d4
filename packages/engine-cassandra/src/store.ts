import {
  assertBatch,
  assertKey,
  assertRangeOptions,
  isStoreKey,
  StoreClosedError,
  StoreUnavailableError,
} from 'tabularium/kv';
import type {
  CommitBatch,
  CommitResult,
  Entry,
  KeyRange,
  RangeOptions,
  RangePage,
  ServedStore,
} from 'tabularium/kv';
import { nameOf, type Bytes } from './bytes.js';
import type { Head, RowVersion } from './partition-rows.js';
import { Partitions } from './partitions.js';
import { keyOf, placeOf, storePrefix } from './places.js';
import { PrefixIndex } from './prefix-index.js';
import { keysOf, PrefixWriter, type Tools } from './prefix-writer.js';
import { RangeReader } from './range-reader.js';
import type { Session } from './session.js';
import { SharedCommits, type SharedBatch } from './shared-commits.js';
import type { Statements } from './statements.js';
import { SupersededVersions } from './superseded.js';

/** A page may read for so long, in milliseconds. */
const readMillisMax = 30_000;
/** Versions stay for twice as long, so that no clocks need to agree. */
const neededMs = 2 * readMillisMax;
const removalPauseMs = 5_000;
/** The note of the greatest version runs ahead, so that it is written once in a second at most. */
const notedAheadMicros = 1_000_000;

export interface CassandraStoreParts {
  readonly session: Session;
  readonly statements: Statements;
  readonly clock: {
    /** Wall clock: microseconds since 1970. May step back. */
    nowMicros(): number;
    /** Milliseconds from any start. Never steps back. */
    monotonicMs(): number;
  };
  readonly randomness: {
    uuid(): string;
    /** From 0 to before 1. */
    chance(): number;
  };
}

export interface CommitStats {
  readonly commits: number;
  /** Changes of partitions that were made for them. */
  readonly syncs: number;
}

/** A store in a keyspace of a cluster, which several processes may use at a time. */
export class CassandraStore implements ServedStore {
  readonly versionsGlobal = false;
  readonly #parts: CassandraStoreParts;
  readonly #partitions: Partitions;
  readonly #ranges: RangeReader;
  readonly #shared: SharedCommits;
  readonly #superseded: SupersededVersions;
  readonly #tools: Tools;
  readonly #writers = new Map<string, PrefixWriter>();
  readonly #removals: NodeJS.Timeout;
  #noted = 0;
  #calls = 0;
  #commits = 0;
  #trouble: Error | undefined;
  #isClosed = false;
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(parts: CassandraStoreParts) {
    const { session, statements, clock, randomness } = parts;
    const monotonicMs = () => clock.monotonicMs();
    const index = new PrefixIndex(session, statements);
    this.#parts = parts;
    this.#partitions = new Partitions({
      session,
      statements,
      index,
      process: randomness.uuid(),
      monotonicMs,
    });
    const head = (prefix: Bytes) => this.#settledHead(prefix);
    this.#ranges = new RangeReader({
      session,
      statements,
      index,
      monotonicMs,
      readMillisMax,
      head,
    });
    this.#superseded = new SupersededVersions({
      monotonicMs,
      neededMs,
      remove: (prefix, row, version) => this.#partitions.remove(prefix, row, version),
    });
    this.#shared = new SharedCommits({
      partitions: this.#partitions,
      storeKeys: {
        get: async (key) => (await this.#readPrefix(storePrefix, [key]))[0],
        getMany: (keys) => this.#readPrefix(storePrefix, keys),
        commit: (batch, versionMin) => this.#writer(storePrefix).commit(batch, versionMin),
      },
      monotonicMs,
      uuid: () => randomness.uuid(),
    });
    this.#tools = {
      partitions: this.#partitions,
      nowMicros: () => clock.nowMicros(),
      monotonicMs,
      chance: () => randomness.chance(),
      noteVersion: (version) => this.#noteVersion(version),
      superseded: (prefix, row, version) => this.#superseded.add(prefix, row, version),
      finish: (prefix, state) => this.#shared.finish(prefix, state),
    };
    // What fails here fails in calls as well, and versions that stay only take space.
    const remove = () => void this.removeSuperseded().catch(() => undefined);
    this.#removals = setInterval(remove, removalPauseMs);
    this.#removals.unref();
  }

  get(key: Bytes): Promise<Entry | undefined> {
    return this.#run(async () => {
      assertKey(key);
      return (await this.#readPrefix(placeOf(key).prefix, [key]))[0];
    });
  }

  getMany(keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
    return this.#run(async () => {
      const prefixes = new Map<string, Bytes>();
      for (const key of keys) {
        assertKey(key);
        const { prefix } = placeOf(key);
        prefixes.set(nameOf(prefix), prefix);
      }
      const found = new Map<string, Entry>();
      for (const [name, prefix] of prefixes) {
        const own = keys.filter((key) => nameOf(placeOf(key).prefix) === name);
        for (const entry of await this.#readPrefix(prefix, own)) {
          if (entry !== undefined) found.set(nameOf(entry.key), entry);
        }
      }
      return keys.map((key) => found.get(nameOf(key)));
    });
  }

  range(range: KeyRange, options: RangeOptions): Promise<RangePage> {
    return this.#run(async () => {
      assertRangeOptions(options);
      return this.#ranges.read(range, options);
    });
  }

  commit(batch: CommitBatch): Promise<CommitResult> {
    return this.#run(async () => {
      assertBatch(batch);
      this.#commits += 1;
      const keys = keysOf(batch);
      const [first] = keys;
      if (first === undefined) return { ok: true, version: this.#parts.clock.nowMicros() };
      const ofPrefix = keys.find((key) => !isStoreKey(key));
      const { prefix } = placeOf(ofPrefix ?? first);
      for (const key of keys) assertPrefix(key, prefix);
      const writer = this.#writer(prefix);
      if (ofPrefix === undefined || !keys.some(isStoreKey)) return writer.commit(batch);
      return writer.alone(() => this.#shared.commit(prefix, writer, parted(batch)));
    });
  }

  /** Up to a second above the greatest version that was given out. */
  lastVersion(): Promise<number> {
    return this.#run(async () => {
      const { rows } = await this.#parts.session.readPage(this.#parts.statements.readStore(), 1);
      return Number(rows[0]?.['last'] ?? 0);
    });
  }

  trouble(): Error | undefined {
    return this.#trouble;
  }

  stats(): CommitStats {
    return { commits: this.#commits, syncs: this.#partitions.changes };
  }

  /** Removes versions that no read needs any more. Runs by itself every few seconds. */
  removeSuperseded(): Promise<void> {
    return this.#run(() => this.#superseded.removeOld());
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#removals);
    if (this.#calls > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    await this.#parts.session.close();
  }

  async #run<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new StoreClosedError();
    this.#calls += 1;
    try {
      const result = await call();
      this.#trouble = undefined;
      return result;
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#trouble = error;
      throw error;
    } finally {
      this.#calls -= 1;
      if (this.#calls === 0) this.#onIdle?.();
    }
  }

  async #readPrefix(prefix: Bytes, keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
    const rows = keys.map((key) => placeOf(key).row);
    let state = await this.#partitions.read(prefix, rows, true);
    if (state.head.pending !== undefined) {
      const writer = this.#writer(prefix);
      state = await writer.alone(() => writer.settled(rows, true));
    }
    return rows.map((row) => entryOf(prefix, state.rows.get(nameOf(row))));
  }

  async #settledHead(prefix: Bytes): Promise<Head> {
    const head = await this.#partitions.head(prefix);
    if (head.pending === undefined) return head;
    const writer = this.#writer(prefix);
    return (await writer.alone(() => writer.settled([], false))).head;
  }

  #writer(prefix: Bytes): PrefixWriter {
    const name = nameOf(prefix);
    const found = this.#writers.get(name);
    if (found !== undefined) return found;
    const forget = () => this.#writers.delete(name);
    const made = new PrefixWriter(Buffer.from(prefix), this.#tools, forget);
    this.#writers.set(name, made);
    return made;
  }

  async #noteVersion(version: number): Promise<void> {
    if (version <= this.#noted) return;
    const noted = version + notedAheadMicros;
    await this.#parts.session.write(this.#parts.statements.raiseLast(noted));
    this.#noted = Math.max(this.#noted, noted);
  }
}

function assertPrefix(key: Bytes, prefix: Bytes): void {
  if (isStoreKey(key) || nameOf(placeOf(key).prefix) === nameOf(prefix)) return;
  throw new Error('a commit touches one partition prefix');
}

function parted(batch: CommitBatch): SharedBatch {
  const partOf = (isOfStore: boolean): CommitBatch => ({
    checks: batch.checks.filter(({ key }) => isStoreKey(key) === isOfStore),
    puts: batch.puts.filter(({ key }) => isStoreKey(key) === isOfStore),
    deletes: batch.deletes.filter((key) => isStoreKey(key) === isOfStore),
    adds: (batch.adds ?? []).filter(({ key }) => isStoreKey(key) === isOfStore),
  });
  return {
    ofPrefix: partOf(false),
    ofStore: partOf(true),
    checks: batch.checks.map((check) => ({ check, isOfStore: isStoreKey(check.key) })),
  };
}

function entryOf(prefix: Bytes, found: RowVersion | undefined): Entry | undefined {
  if (found === undefined || found.isGone) return undefined;
  const { row, version, value } = found;
  return { key: keyOf({ prefix, row }), value: value ?? Buffer.alloc(0), version };
}
