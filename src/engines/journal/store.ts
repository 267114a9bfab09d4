import { compareBytes, nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import type { Randomness } from '../../base/randomness.js';
import type { SortedByKey } from '../../base/sorted-by-key.js';
import { InFlight } from '../../base/async/in-flight.js';
import type { Timers } from '../../base/async/timers.js';
import {
  StoreClosedError,
  StoreFailedError,
  StoreWriteError,
  unknownOutcome,
} from '../../kv/errors.js';
import type { Guarded, GuardedBatch, GuardedRangeOptions } from '../../kv/guards.js';
import { assertIngestion, type Ingestion } from '../../kv/ingestion.js';
import type { InstantVersions } from '../../kv/instant-versions.js';
import { assertBatch, assertKey, assertRangeOptions } from '../../kv/limits.js';
import type { MemberStore } from '../../kv/member-store.js';
import type { CommitStats } from '../../kv/pending-commits.js';
import { sampleByReading, type RangeSample, type SampleOptions } from '../../kv/sample.js';
import type { ServedStore, StoreSpace } from '../../kv/served-store.js';
import { canSnapshot, type SnapshotStore, type StoreSnapshot } from '../../kv/snapshots.js';
import type {
  CommitBatch,
  CommitResult,
  Entry,
  KeyRange,
  RangeOptions,
  RangePage,
} from '../../kv/store.js';
import { Applier } from './applier.js';
import { appliedOf, noteEntry, noteKey } from './base-note.js';
import { CommitGroups, type CommitTarget } from './commit-groups.js';
import type { Evaluated } from './evaluation.js';
import { DeadRuns } from './dead-runs.js';
import { FencedBase } from './fenced-base.js';
import { Journal, sumOf } from './journal.js';
import type { FrameContent, ShowChanges } from './journal.js';
import type { JournalFiles } from './journal-files.js';
import { defaultJournalLimits, type JournalLimits } from './journal-limits.js';
import { entryOf, foundOf, lookUp } from './look-up.js';
import { MemoryTable, type TableEntry } from './memory-table.js';
import { KnownVersions } from './known-versions.js';
import { mergedRange } from './merged-range.js';
import { ReadEpochs } from './read-epochs.js';
import { recover, type SkippedChecks } from './recovery.js';
import { assertGuard, refusalOf } from './refusals.js';
import { innerOf, JournaledSnapshot } from './snapshot.js';
import { StuckWrites } from './stuck-writes.js';

/** A store that a journal can be put in front of. */
export type JournalBase = MemberStore & ServedStore & { space(): StoreSpace };

export interface JournaledStoreOptions {
  /** Owned by the store: nothing else may write to it, and it is closed with the store. */
  readonly base: JournalBase;
  readonly files: JournalFiles;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
  readonly limits?: JournalLimits;
  /** Checks that recovery skips, for simulations. */
  readonly skippedChecks?: SkippedChecks;
  /** The store has failed, and the process must exit. Called once. */
  readonly onFailed?: (error: StoreFailedError) => void;
  /**
   * The base refuses writes, so they stay in the journal; without an error: it accepts them again.
   */
  readonly onTrouble?: (error: Error | undefined) => void;
  /** Journal files that are not needed cannot be removed. Called once. */
  readonly onUnremoved?: (error: Error) => void;
  /** A file of the journal cannot be closed, or not in time. Nothing acknowledged is lost. */
  readonly onUnclosed?: (error: Error) => void;
  /** Called while the store opens: the files read so far, and the former openings to read. */
  readonly onRead?: (files: number, openings: number) => void;
}

/**
 * Opens a store whose commits are durable when they are in a journal. Commits that a crashed
 * process has left in the journal are visible at once, and are applied to the base later. Throws
 * `StoreDamagedError` when acknowledged commits are missing from the journal.
 */
export async function openJournaledStore(options: JournaledStoreOptions): Promise<JournaledStore> {
  const {
    base,
    files,
    randomness,
    onUnremoved,
    onUnclosed,
    limits = defaultJournalLimits,
  } = options;
  const applied = appliedOf(await base.get(noteKey));
  const generations = await files.retire();
  const { frames, lastSequence } = await recover(files, applied, {
    skippedChecks: options.skippedChecks,
    onRead: (read) => options.onRead?.(read, generations.length),
  });
  const isLeft = generations.length > 0;
  const generation = Math.max(applied.generation, ...generations) + 1;
  await files.begin(generation);
  const table = new MemoryTable();
  table.fill(frames);
  table.hide(noteKey);
  let lastVersion = await base.lastVersion();
  for (const frame of frames) lastVersion = Math.max(lastVersion, frame.lastVersion);
  const predecessor = { generation: applied.generation, secret: applied.secret };
  const own = { files, randomness, generation, predecessor, lastSequence };
  const left = sumOf(frames);
  const journal = new Journal({ ...own, ...limits, left, onUnremoved, onUnclosed });
  try {
    await journal.open();
    // From now on, a start without the journal is refused.
    const note = noteEntry({ ...journal.position, sequence: applied.sequence });
    await base.ingest({ entries: [note], deletes: [], floor: 0 });
  } catch (error) {
    await journal.close();
    // Otherwise each start on a full disk would leave a folder. After any other error the note may
    // be in the base, and it names the folder.
    if (error instanceof StoreWriteError) await files.removeBegun().catch(() => undefined);
    throw error;
  }
  const parts = { limits, table, journal, generation, lastVersion, isLeft };
  return new JournaledStore({ ...options, ...parts });
}

interface StoreParts extends JournaledStoreOptions {
  readonly limits: JournalLimits;
  readonly table: MemoryTable;
  readonly journal: Journal;
  readonly generation: number;
  readonly lastVersion: number;
  /** Earlier generations have left folders. */
  readonly isLeft: boolean;
}

/** A pass begins when the table has this fraction of its maximum: one fourth. */
const beginShare = 4;

/** A store in front of another one, whose commits cost one write to a file. */
export class JournaledStore implements MemberStore, ServedStore, SnapshotStore, InstantVersions {
  readonly versionsGlobal = true;
  readonly #parts: StoreParts;
  readonly #base: JournalBase;
  readonly #fenced: FencedBase;
  readonly #table: MemoryTable;
  readonly #epochs = new ReadEpochs();
  readonly #dead = new DeadRuns();
  readonly #known: KnownVersions;
  readonly #commits: CommitGroups;
  readonly #applier: Applier;
  readonly #stuck: StuckWrites;
  readonly #restores = new InFlight();
  #lastVersion: number;
  #failure: StoreFailedError | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: StoreParts) {
    const { base, table, journal, timers, generation, limits, clock } = parts;
    this.#parts = parts;
    this.#base = base;
    this.#known = new KnownVersions(base);
    this.#fenced = new FencedBase({ base, generation, onFailed: (error) => this.#fail(error) });
    this.#table = table;
    this.#lastVersion = parts.lastVersion;
    this.#commits = new CommitGroups(this.#target(), clock);
    this.#applier = new Applier({
      base: this.#fenced,
      journal,
      table,
      epochs: this.#epochs,
      timers,
      lastVersion: () => this.#lastVersion,
      onTrouble: (error) => parts.onTrouble?.(error),
      bytesToBegin: limits.tableBytesMax / beginShare,
    });
    this.#stuck = new StuckWrites(parts.files.name, { timers, clock });
    if (parts.isLeft) this.#applier.beginSoon();
    else this.#applier.wake();
  }

  async get(key: Bytes, options?: Guarded): Promise<Entry | undefined> {
    this.#assertOpen();
    assertKey(key);
    if (options?.guard !== undefined) return (await this.getMany([key], options))[0];
    const entry = this.#table.get(key);
    return entry === undefined ? await this.#base.get(key) : entryOf(entry, key);
  }

  versionNow(key: Bytes): number | undefined {
    this.#assertOpen();
    assertKey(key);
    const name = nameOfBytes(key);
    const entry = this.#table.named(name);
    if (entry !== undefined) return entry.isDeletion ? undefined : entry.version;
    return this.#known.versionNow(key, name);
  }

  async getMany(keys: readonly Bytes[], options?: Guarded): Promise<(Entry | undefined)[]> {
    this.#assertOpen();
    for (const key of keys) assertKey(key);
    const guard = options?.guard;
    if (guard === undefined) return this.#epochs.during(() => this.#read(keys));
    assertKey(guard.key);
    const found = await this.#epochs.during(() => this.#read([...keys, guard.key]));
    assertGuard(guard, found.pop());
    return found;
  }

  async range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage> {
    this.#assertOpen();
    assertRangeOptions(options);
    const { guard, ...own } = options;
    if (guard !== undefined) assertKey(guard.key);
    return this.#epochs.during(() =>
      this.#table.during((table) =>
        guard === undefined && own.reverse !== true
          ? this.#forward(table, range, own)
          : this.#guarded(table, range, options),
      ),
    );
  }

  async #guarded(
    table: TableView,
    range: KeyRange,
    { guard, ...own }: GuardedRangeOptions,
  ): Promise<RangePage> {
    // A guard that is not in the table is checked by the base, in the snapshot of the range.
    const inTable = guard && table.get(guard.key);
    if (guard !== undefined && inTable !== undefined) assertGuard(guard, foundOf(inTable));
    const atBase = inTable === undefined && guard !== undefined ? { guard } : {};
    const read = (part: KeyRange, each: GuardedRangeOptions) =>
      this.#base.range(part, { ...each, ...atBase });
    return mergedRange(read, table, range, own);
  }

  async #forward(table: TableView, range: KeyRange, options: RangeOptions): Promise<RangePage> {
    const start = this.#dead.startOf(range.start);
    if (range.end !== undefined && compareBytes(start, range.end) >= 0) {
      return { entries: [], more: false };
    }
    const read = (part: KeyRange, each: RangeOptions) => this.#base.range(part, each);
    const { entries, more } = await this.#dead.during(start, () =>
      mergedRange(read, table, { ...range, start }, options),
    );
    return { entries, more };
  }

  async commit(batch: GuardedBatch): Promise<CommitResult> {
    this.#assertOpen();
    assertBatch(batch);
    if (batch.guard !== undefined) assertKey(batch.guard.key);
    return this.#commits.carryOut({ kind: 'commit', batch });
  }

  /** A commit is a fence: commits are applied in order, and each reads its guard when applied. */
  fence(batch: CommitBatch): Promise<CommitResult> {
    return this.commit(batch);
  }

  async ingest(ingestion: Ingestion): Promise<void> {
    this.#assertOpen();
    assertIngestion(ingestion);
    await this.#commits.carryOut({ kind: 'ingest', ingestion });
  }

  async sample(range: KeyRange, cuts: number, options?: SampleOptions): Promise<RangeSample> {
    const { clock } = this.#parts;
    return sampleByReading(this, range, { ...options, cuts, clock });
  }

  async lastVersion(): Promise<number> {
    this.#assertOpen();
    return this.#lastVersion;
  }

  async takeSnapshot(): Promise<StoreSnapshot> {
    this.#assertOpen();
    const base = this.#snapshotBase();
    await this.#commits.drained();
    await this.#applier.drain();
    return new JournaledSnapshot(await base.takeSnapshot());
  }

  async restoreSnapshot(snapshot?: StoreSnapshot, beside: readonly Entry[] = []): Promise<void> {
    this.#assertOpen();
    const base = this.#snapshotBase();
    const inBase = snapshot === undefined ? undefined : innerOf(snapshot);
    this.#assertWritable();
    await this.#restores.during(() => this.#restore(base, inBase, beside));
  }

  async #restore(
    base: SnapshotStore,
    snapshot: StoreSnapshot | undefined,
    beside: readonly Entry[],
  ): Promise<void> {
    await this.#commits.drained();
    await this.#applier.drain();
    // Later reads find nothing in the table, so each of them is one read of the base.
    await this.#epochs.over();
    this.#assertOpen();
    const { journal } = this.#parts;
    // The frames so far must not be applied to the restored data; and the note in the snapshot is
    // outdated, so the current one is restored with it.
    await this.#append({ kind: 'restart', lastVersion: this.#lastVersion, changes: [] });
    try {
      const entries = [...beside, noteEntry(journal.position)];
      const restore = () => base.restoreSnapshot(snapshot, entries);
      await this.#known.during(() => this.#fenced.write(restore));
    } finally {
      this.#dead.clear();
    }
  }

  space(): StoreSpace {
    return { ...this.#base.space(), owedBytes: this.#table.bytes };
  }

  trouble(): Error | undefined {
    return (
      this.#failure ??
      this.#base.trouble() ??
      this.#parts.journal.detachment() ??
      this.#applier.trouble
    );
  }

  /**
   * Resolves when the base has everything. If the base refuses writes, they stay in the journal;
   * a commit that does not end in time makes the store fail.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The number of settled commits since the store was opened, and of the writes for them. */
  stats(): CommitStats {
    return this.#commits.stats();
  }

  /**
   * Applies everything to the base and removes the journal. The store must not be used afterwards.
   */
  async settle(): Promise<void> {
    const { journal } = this.#parts;
    await this.#applyLast();
    await journal.close();
    await journal.removeAll();
  }

  /** From then on the base needs no journal. */
  async #applyLast(): Promise<void> {
    await this.#applier.close();
    await this.#applier.drain({ isSettled: true });
  }

  async #close(): Promise<void> {
    try {
      await this.#stuck.limitCommits(this.#commits.drained());
    } catch (error) {
      if (!(error instanceof StoreFailedError)) throw error;
      this.#fail(error);
    }
    await this.#applier.close();
    // A restore writes a note that names files, so they must not be removed before.
    await this.#restores.none();
    const isSettled = await this.#isSettledAtEnd();
    await this.#endJournal(isSettled);
    await this.#base.close();
  }

  /** A disk that does not answer holds up the end no longer than its limit. */
  async #endJournal(isSettled: boolean): Promise<void> {
    const { journal, timers, onUnclosed } = this.#parts;
    // The time for removals begins here: a pass may take long, and must not use it up.
    const limit = journal.limitRemoval(timers);
    const late = await this.#stuck.limitEnd(this.#closeJournal(isSettled));
    limit.close();
    if (late === undefined) return;
    // Another opening may begin as soon as the base is closed.
    journal.endRemoval();
    onUnclosed?.(late);
  }

  /** Runs the last pass. False where the journal has to stay: the next opening finds it. */
  async #isSettledAtEnd(): Promise<boolean> {
    if (this.#failure !== undefined || this.#base.trouble() !== undefined) return false;
    try {
      await this.#applyLast();
      return true;
    } catch {
      // The journal keeps what the base has refused.
      return false;
    }
  }

  async #closeJournal(isSettled: boolean): Promise<void> {
    const { journal } = this.#parts;
    if (isSettled) await journal.giveUp();
    // A file cannot be closed while it is written.
    else if (!this.#stuck.isWriting) await journal.close();
  }

  #target(): CommitTarget {
    return {
      lastVersion: () => this.#lastVersion,
      makeRoom: (bytes) => this.#makeRoom(bytes),
      read: (keys) => lookUp(this.#table, this.#base, keys, foundOf),
      apply: (changes, lastVersion) => this.#apply(changes, lastVersion),
    };
  }

  /** Throws when nothing may be written: after a failure, or when files were moved. */
  #assertWritable(): void {
    const { journal } = this.#parts;
    const trouble = this.#failure ?? this.#base.trouble() ?? journal.detachment();
    if (trouble !== undefined) throw refusalOf(trouble);
  }

  async #makeRoom(bytes: number): Promise<void> {
    this.#assertWritable();
    while (this.#failure === undefined && this.#lacksRoomFor(bytes)) {
      await this.#applier.progress();
      const { trouble } = this.#applier;
      if (trouble !== undefined) throw refusalOf(trouble);
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  #lacksRoomFor(bytes: number): boolean {
    const { journal, limits, table } = this.#parts;
    const isFull = table.bytes > limits.tableBytesMax || table.count > limits.tableRowsMax;
    return isFull || !journal.hasRoomFor(bytes);
  }

  #read(keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
    return lookUp(this.#table, this.#base, keys, entryOf);
  }

  async #apply(changes: readonly Evaluated[], lastVersion: number): Promise<void> {
    await this.#append({ kind: 'changes', lastVersion, changes }, (durable, sequence) => {
      this.#lastVersion = lastVersion;
      for (const [index, change] of durable.entries()) {
        const evaluated = changes[index];
        invariant(evaluated !== undefined, 'a frame has the changes that it was given');
        const { key, value, isNew, name } = evaluated;
        this.#table.apply(change, sequence, isNew, name);
        this.#known.forget(name);
        if (value !== undefined) this.#dead.revive(key, name);
      }
      this.#applier.wake();
    });
  }

  async #append(content: FrameContent, show: ShowChanges = () => undefined): Promise<void> {
    const { journal } = this.#parts;
    try {
      await this.#stuck.limitWrite(journal.append(content, show));
    } catch (error) {
      if (error instanceof StoreFailedError) {
        this.#fail(error);
        throw unknownOutcome(error);
      }
      // If the file was moved, another process may have read the frame before it was annulled.
      this.#assertInPlace();
      throw error;
    }
    // The frame is durable and visible here, but a restart may not find a file that was moved.
    this.#assertInPlace();
  }

  #assertInPlace(): void {
    const detachment = this.#parts.journal.detachment();
    if (detachment !== undefined) throw unknownOutcome(detachment);
  }

  #fail(error: StoreFailedError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    void this.#applier.close();
    // A failed base has reported its failure itself.
    if (!(this.#base.trouble() instanceof StoreFailedError)) this.#parts.onFailed?.(error);
  }

  #snapshotBase(): SnapshotStore {
    invariant(canSnapshot(this.#base), 'the store before which the journal stands has snapshots');
    return this.#base;
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreClosedError();
    if (this.#failure !== undefined) throw this.#failure;
  }
}

type TableView = ReturnType<SortedByKey<TableEntry>['view']>;
