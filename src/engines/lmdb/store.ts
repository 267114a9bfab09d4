import { join, resolve } from 'node:path';
import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { syncDirectory } from '../../base/sync-directory.js';
import { invariant } from '../../base/invariant.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import { StoreClosedError } from '../../kv/errors.js';
import { assertBatch, assertKey, assertRangeOptions } from '../../kv/limits.js';
import {
  type Guard,
  type Guarded,
  type GuardedBatch,
  type GuardedRangeOptions,
} from '../../kv/guards.js';
import { assertIngestion, type Ingestion } from '../../kv/ingestion.js';
import type { InstantVersions } from '../../kv/instant-versions.js';
import type { MemberStore } from '../../kv/member-store.js';
import { sampleByReading, type RangeSample, type SampleOptions } from '../../kv/sample.js';
import type { ServedStore, StoreEvents, StoreSpace } from '../../kv/served-store.js';
import type { SnapshotStore, StoreSnapshot } from '../../kv/snapshots.js';
import type { CommitBatch, CommitResult, Entry, KeyRange, RangePage } from '../../kv/store.js';
import type { CheckProgress } from './check/check.js';
import { assertIntact } from './check/directory-check.js';
import { ColdReads, startFetchThread } from './cold/cold-reads.js';
import { StoreCondition } from './condition.js';
import { within } from '../../base/async/deadline.js';
import type { DirectoryLock } from './directory-lock.js';
import { joinDirectory, lockDirectory } from './directory-lock.js';
import { dataFile } from './directory/file-kinds.js';
import { noteDataFile, prepareDirectory, secureDirectory } from './directory.js';
import { startError } from './disk-error.js';
import type { Environment } from './environment.js';
import { filesOf, lockFileOf, reusableBytes } from './environment.js';
import { openBesideOwner } from './held-opening.js';
import { openSettledEnvironment } from './open-settled.js';
import { waitForLock } from './lock-wait.js';
import type { Records } from './records.js';
import type { CommitStats, Work } from '../../kv/pending-commits.js';
import { GroupCommit, stallMs } from './group-commit.js';
import { readGuard, readLastVersion } from './group-writer.js';
import { RangeReader, type RangesFrom } from './range-reader.js';
import { CacheFilling } from './cold/cache-filling.js';
import { cachedBytesBound } from './cold/page-cache.js';
import { claimDirectory } from './open-directories.js';
import { dumpEntries, LmdbSnapshot, replaceEntries } from './snapshot.js';
import { StaleReaders } from './stale-readers.js';
import { ThreadIngester } from './thread-ingester.js';

export interface LmdbStoreOptions {
  /** Created when it is missing. */
  readonly directory: string;
  readonly clock: Clock;
  /**
   * `durable` (the default): a commit resolves when it is synced. `relaxed`: when the operating
   * system has the data; a crash of this process then loses nothing, but a crash of the machine may
   * lose the last commits or damage the data file.
   */
  readonly durability?: 'durable' | 'relaxed';
  /**
   * `exclusive` (the default): this process owns the directory, and a second owner is refused.
   * `join`: this process is a worker on a directory that another process owns.
   */
  readonly sharing?: 'exclusive' | 'join';
  /**
   * The ingestions that a separate thread writes; the others are queued with commits. `large`:
   * those that would block this thread for long. None by default.
   */
  readonly ingestsInThread?: 'large' | 'all';
  readonly events?: Partial<StoreEvents>;
  readonly timers?: Timers;
  /**
   * How many pages of mapped memory the process has had to wait for since it began. By default what
   * the system has counted.
   */
  readonly faults?: () => number;
  /**
   * `map` (the default): ranges in key order are read from the pages that the engine has mapped,
   * where the system tells where these are, as Linux does. `package`: by the package's cursor.
   */
  readonly rangesFrom?: RangesFrom;
}

/** How long `close` waits for commits in progress and then for the engine, together. */
const closeMs = 10_000;

/** Opens the store in a data directory. Throws `DataDirectoryError` when it cannot be opened. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<LmdbStore> {
  try {
    return await openStore(options);
  } catch (error) {
    throw startError(options.directory, error);
  }
}

async function openStore(options: LmdbStoreOptions): Promise<LmdbStore> {
  const { directory, clock, durability = 'durable', sharing = 'exclusive' } = options;
  const isOwner = sharing === 'exclusive';
  const { isNew } = await prepareDirectory(directory, { create: isOwner });
  const { events = {}, timers = systemTimers } = options;
  const { waiting = () => undefined } = events;
  const closing: (() => unknown)[] = [claimDirectory(directory)];
  let isCached = false;
  try {
    if (isOwner) {
      for (const warning of await secureDirectory(directory)) events.exposed?.(warning);
      const progress = (each: CheckProgress) => events.checking?.(each.pages, each.pagesMax);
      const { wasLeft, wasRead } = await assertIntact(directory, { isNew, progress });
      isCached = wasRead;
      if (wasLeft) await waitForLock({ directory, timers, waiting });
    }
    const sync = durability === 'durable';
    const environment = isOwner
      ? await openSettledEnvironment(directory, { sync })
      : await openBesideOwner({ directory, sync, timers, waiting });
    closing.unshift(() => environment.root.close());
    const lock = isOwner
      ? await lockDirectory(environment, {
          directory,
          clock,
          timers,
          waiting,
          isDurable: sync,
          wasRead: isCached,
        })
      : await joinDirectory(environment, directory);
    closing.unshift(() => lock.release().catch((error: unknown) => events.unreleased?.(error)));
    // The data file may be new; its own syncs do not make its directory entry durable.
    await syncDirectory(directory);
    if (isNew && isOwner) await noteDataFile(directory);
    const files = filesOf(resolve(directory));
    const condition = new StoreCondition(environment, { files, timers, events });
    closing.unshift(() => condition.close());
    if (isOwner) closing.unshift(...careOf(environment, { directory, timers, events, isCached }));
    const { ingestsInThread: which } = options;
    const ownerRecord = lock.record;
    const ingester =
      which && new ThreadIngester({ directory, sync, ownerRecord, which, condition, timers });
    if (ingester !== undefined) closing.unshift(() => ingester.close());
    const cold = coldReadsOf(options, condition, isOwner && !isCached);
    closing.unshift(() => cold.close());
    const ranges = new RangeReader(environment, { ...options, lockFile: lockFileOf(directory) });
    const parts = { clock, timers, condition, lock, closing, ingester, cold, ranges };
    return new LmdbStore(environment, parts);
  } catch (error) {
    for (const close of closing) await close();
    throw error;
  }
}

function coldReadsOf(
  { directory, clock, timers = systemTimers, faults = majorFaults, events }: LmdbStoreOptions,
  condition: StoreCondition,
  isCold: boolean,
): ColdReads {
  const stuck = `the disk has not given what was read within ${stallMs / 1000} s.`;
  return new ColdReads({
    clock,
    timers,
    stuckAfterMs: stallMs,
    onStuck: () => void condition.fail(stuck),
    faults,
    startFetcher: (calls) => startFetchThread({ directory }, calls),
    isCold,
    onFailed: (error) => events?.unread?.(error),
  });
}

function majorFaults(): number {
  return process.resourceUsage().majorPageFault;
}

interface CareOptions extends Pick<LmdbStoreOptions, 'directory'> {
  readonly timers: Timers;
  readonly events: Partial<StoreEvents>;
  readonly isCached: boolean;
}

/** Starts the background work of an owner. Returns the functions that end it. */
function careOf(
  environment: Environment,
  { directory, timers, events, isCached }: CareOptions,
): (() => unknown)[] {
  const onFailed = (error: unknown) => events.uncheckedReaders?.(error);
  const readers = new StaleReaders(environment, { timers, onFailed });
  if (isCached) return [() => readers.close()];
  const onUnread = (error: unknown) => events.unread?.(error);
  const file = { path: join(directory, dataFile), bytesMax: cachedBytesBound() };
  const filling = new CacheFilling(file, onUnread);
  return [() => readers.close(), () => filling.close()];
}

interface StoreParts {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly condition: StoreCondition;
  readonly lock: DirectoryLock;
  readonly ingester: ThreadIngester | undefined;
  readonly cold: ColdReads;
  readonly ranges: RangeReader;
  /** Cleanup functions, in order. */
  readonly closing: readonly (() => unknown)[];
}

/**
 * A store over one LMDB environment, which several processes may have open. Reads are synchronous
 * and memory-mapped; each begins and ends its own snapshot in one turn, so that no snapshot
 * keeps freed pages from reuse. What the disk may have to give is brought into the cache of the
 * system first. Commits run in groups.
 */
export class LmdbStore implements MemberStore, ServedStore, SnapshotStore, InstantVersions {
  readonly versionsGlobal = true;
  readonly #environment: Environment;
  readonly #entries: Records;
  readonly #commits: GroupCommit;
  readonly #parts: StoreParts;
  readonly #cold: ColdReads;
  readonly #ranges: RangeReader;
  /** Writes whose pages are brought into the cache of the system. */
  readonly #fetching = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(environment: Environment, parts: StoreParts) {
    this.#environment = environment;
    this.#entries = environment.entries;
    this.#commits = new GroupCommit(environment, parts);
    this.#parts = parts;
    this.#cold = parts.cold;
    this.#ranges = parts.ranges;
  }

  async get(key: Bytes, options?: Guarded): Promise<Entry | undefined> {
    this.#assertOpen();
    assertKey(key);
    if (this.#cold.areCold) await this.#fetched([key], options);
    try {
      this.#assertGuard(options?.guard);
      return this.#entries.get(key);
    } finally {
      this.#entries.endRead();
    }
  }

  /** Undefined while the disk may have to be waited for. */
  versionNow(key: Bytes): number | undefined {
    this.#assertOpen();
    assertKey(key);
    if (this.#cold.areCold) return undefined;
    try {
      return this.#entries.versionOf(key);
    } finally {
      this.#entries.endRead();
    }
  }

  async getMany(keys: readonly Bytes[], options?: Guarded): Promise<(Entry | undefined)[]> {
    this.#assertOpen();
    for (const key of keys) assertKey(key);
    if (this.#cold.areCold) await this.#fetched(keys, options);
    try {
      this.#assertGuard(options?.guard);
      return keys.map((key) => this.#entries.get(key));
    } finally {
      this.#entries.endRead();
    }
  }

  async range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage> {
    this.#assertOpen();
    assertRangeOptions(options);
    if (this.#cold.areCold) {
      await this.#cold.range(range, options);
      this.#assertOpen();
    }
    try {
      return this.#ranges.page(range, options);
    } finally {
      this.#entries.endRead();
    }
  }

  async commit(batch: GuardedBatch): Promise<CommitResult> {
    this.#assertOpen();
    assertBatch(batch);
    if (batch.guard !== undefined) assertKey(batch.guard.key);
    return this.#carryOut({ kind: 'commit', batch }, () => keysOfBatch(batch));
  }

  /** Commits of all processes are serialised, and each reads its guard when it is applied. */
  fence(batch: CommitBatch): Promise<CommitResult> {
    return this.commit(batch);
  }

  async ingest(ingestion: Ingestion): Promise<void> {
    this.#assertOpen();
    assertIngestion(ingestion);
    const { ingester } = this.#parts;
    if (ingestion.guard !== undefined || ingester?.takes(ingestion) !== true) {
      await this.#carryOut({ kind: 'ingest', ingestion }, () => keysOfIngestion(ingestion));
      return;
    }
    await ingester.ingest(ingestion);
  }

  async sample(range: KeyRange, cuts: number, options?: SampleOptions): Promise<RangeSample> {
    const { clock } = this.#parts;
    return sampleByReading(this, range, { ...options, cuts, clock });
  }

  async lastVersion(): Promise<number> {
    this.#assertOpen();
    try {
      return readLastVersion(this.#environment);
    } finally {
      this.#environment.meta.endRead();
    }
  }

  async takeSnapshot(): Promise<StoreSnapshot> {
    this.#assertOpen();
    await this.#commits.drained();
    return dumpEntries(this.#environment);
  }

  async restoreSnapshot(snapshot?: StoreSnapshot, beside: readonly Entry[] = []): Promise<void> {
    this.#assertOpen();
    const content = snapshot === undefined ? [] : contentOf(snapshot);
    await this.#commits.rewrite(() => replaceEntries(this.#environment, [content, beside]));
  }

  space(): StoreSpace {
    this.#assertOpen();
    return { reusableBytes: reusableBytes(this.#environment), owedBytes: 0 };
  }

  trouble(): Error | undefined {
    return this.#parts.condition.trouble;
  }

  /** Resolves within a bounded time. When the engine is stuck, the store has failed. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The number of settled commits since the store was opened, and of groups that wrote them. */
  stats(): CommitStats {
    return this.#commits.stats();
  }

  async #close(): Promise<void> {
    const { condition, lock, timers } = this.#parts;
    const late = () => condition.fail(`it could not be closed within ${closeMs / 1000} s.`);
    try {
      await within(this.#end(), { limitMs: closeMs, timers, late });
    } catch (error) {
      if (condition.failure === undefined) throw error;
    }
    // The environment stays open: a stuck writer would use freed memory.
    if (condition.failure !== undefined) await lock.abandon();
  }

  async #end(): Promise<void> {
    await this.#drained();
    // A stuck writer would use what is given back.
    if (this.#parts.condition.failure !== undefined) return;
    for (const close of this.#parts.closing) await close();
  }

  async #fetched(keys: readonly Bytes[], options: Guarded | undefined): Promise<void> {
    const guard = options?.guard;
    await this.#cold.keys(guard === undefined ? keys : [...keys, guard.key]);
    this.#assertOpen();
  }

  /** True while an earlier write waits for its pages as well, because writes keep their order. */
  get #mayWaitForPages(): boolean {
    return this.#fetching.size > 0 || this.#cold.areCold;
  }

  /**
   * Carries out a write, which reads the pages of its keys on the main thread. Closing waits for a
   * write whose pages are being read, as for every write that has begun.
   */
  async #carryOut(work: Work, keys: () => readonly Bytes[]): Promise<CommitResult> {
    if (!this.#mayWaitForPages) return this.#commits.carryOut(work);
    const fetched = this.#cold.inOrder(keys());
    this.#fetching.add(fetched);
    try {
      await fetched;
      return this.#commits.carryOut(work);
    } finally {
      this.#fetching.delete(fetched);
    }
  }

  /** Resolves when every write that has begun has settled. */
  async #drained(): Promise<void> {
    while (this.#fetching.size > 0) await Promise.all(this.#fetching);
    await this.#commits.drained();
  }

  /** Called with the guarded reads, in the same snapshot. */
  #assertGuard(guard: Guard | undefined): void {
    if (guard === undefined) return;
    assertKey(guard.key);
    const refusal = readGuard(this.#environment, guard);
    if (refusal !== undefined) throw refusal;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreClosedError();
    if (this.#parts.condition.failure !== undefined) throw this.#parts.condition.failure;
  }
}

function keysOfBatch({ guard, checks, puts, deletes, adds = [] }: GuardedBatch): readonly Bytes[] {
  const keys = new Set(deletes);
  for (const { key } of [...checks, ...puts, ...adds]) keys.add(key);
  if (guard !== undefined) keys.add(guard.key);
  return [...keys];
}

function keysOfIngestion({ guard, entries, deletes }: Ingestion): readonly Bytes[] {
  const keys = [...deletes, ...entries.map(({ key }) => key)];
  return guard === undefined ? keys : [...keys, guard.key];
}

function contentOf(snapshot: StoreSnapshot): readonly Entry[] {
  invariant(snapshot instanceof LmdbSnapshot, 'a snapshot of this engine');
  return snapshot.content;
}
