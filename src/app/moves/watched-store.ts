import { within } from '../../base/async/deadline.js';
import { InFlight } from '../../base/async/in-flight.js';
import type { Timers } from '../../base/async/timers.js';
import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import { invariant } from '../../base/invariant.js';
import { StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import type { GuardedBatch } from '../../kv/guards.js';
import { hasInstantVersions, type InstantVersions } from '../../kv/instant-versions.js';
import type { ServedStore, StoreSpace } from '../../kv/served-store.js';
import type { SnapshotStore, StoreSnapshot } from '../../kv/snapshots.js';
import type {
  CommitBatch,
  CommitResult,
  Entry,
  KeyRange,
  RangeOptions,
  RangePage,
} from '../../kv/store.js';
import type { MovedError } from './moved-error.js';

/** A call waits so long for a store that is just being switched, in milliseconds. */
const waitMillisMax = 10_000;

/** What is said to who wants to replace data that move. */
export const movingText =
  'The data are moving to another place, so they cannot be set back. Call that off first: ' +
  'tabularium migrate --online --cancel.';

export type WatchableStore = ServedStore & SnapshotStore;

/** `fenced`: reads only. `closed`: nothing. Calls that the mode excludes wait. */
type AccessMode = 'open' | 'fenced' | 'closed';

/**
 * The one way to a store whose data may move while they are served. It notes which keys were
 * written, and lets nobody in while the move ends. Reads and writes go straight to the store
 * otherwise.
 */
export class WatchedStore implements ServedStore, SnapshotStore, InstantVersions {
  readonly versionsGlobal: boolean;
  /** The store itself, for who moves its data. */
  readonly inner: WatchableStore;
  readonly #timers: Timers;
  #access: AccessMode = 'open';
  #moved: MovedError | undefined;
  /** Keys that commits have written since they are noted. */
  #notes: Map<string, Bytes> | undefined;
  readonly #commits = new InFlight();
  #isRestoring = false;
  /** Resolves when the mode has changed. */
  #changed = signal();

  constructor(inner: WatchableStore, timers: Timers) {
    this.inner = inner;
    this.#timers = timers;
    this.versionsGlobal = inner.versionsGlobal;
  }

  get(key: Bytes): Promise<Entry | undefined> {
    if (this.#access !== 'closed') return this.inner.get(key);
    return this.#later('read', () => this.inner.get(key));
  }

  versionNow(key: Bytes): number | undefined {
    const canTell = this.#access !== 'closed' && hasInstantVersions(this.inner);
    return canTell ? this.inner.versionNow(key) : undefined;
  }

  getMany(keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
    if (this.#access !== 'closed') return this.inner.getMany(keys);
    return this.#later('read', () => this.inner.getMany(keys));
  }

  range(range: KeyRange, options: RangeOptions): Promise<RangePage> {
    if (this.#access !== 'closed') return this.inner.range(range, options);
    return this.#later('read', () => this.inner.range(range, options));
  }

  commit(batch: GuardedBatch): Promise<CommitResult> {
    if (this.#access !== 'open') return this.#later('write', () => this.commit(batch));
    this.#commits.begin();
    const result = this.inner.commit(batch);
    // A commit that was rejected may have been applied.
    const settle = (): void => this.#settle(batch);
    result.then(settle, settle);
    return result;
  }

  lastVersion(): Promise<number> {
    return this.inner.lastVersion();
  }

  space(): StoreSpace {
    return this.inner.space?.() ?? { reusableBytes: 0, owedBytes: 0 };
  }

  trouble(): Error | undefined {
    return this.#moved ?? this.inner.trouble();
  }

  takeSnapshot(): Promise<StoreSnapshot> {
    return this.inner.takeSnapshot();
  }

  async restoreSnapshot(snapshot?: StoreSnapshot, beside?: readonly Entry[]): Promise<void> {
    if (this.isMoving) throw new StoreWriteError(movingText);
    this.#isRestoring = true;
    try {
      await this.inner.restoreSnapshot(snapshot, beside);
    } finally {
      this.#isRestoring = false;
    }
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  /** Keys are noted, or the data have moved: they cannot be replaced. */
  get isMoving(): boolean {
    return this.#notes !== undefined || this.#access !== 'open';
  }

  /** The data are being replaced, so that nobody could say what is written. */
  get isRestoring(): boolean {
    return this.#isRestoring;
  }

  /** From now on keys are noted: those of each commit that has not ended yet. */
  note(): void {
    invariant(!this.#isRestoring, 'nobody notes what replaces everything');
    this.#notes = new Map();
  }

  get notedKeys(): number {
    return this.#notes?.size ?? 0;
  }

  /** The keys that were noted; they are forgotten here. */
  takeNotes(): readonly Bytes[] {
    if (this.#notes === undefined || this.#notes.size === 0) return [];
    const keys = [...this.#notes.values()];
    this.#notes.clear();
    return keys;
  }

  endNotes(): void {
    this.#notes = undefined;
  }

  /** Commits wait from now on. Resolves when those before have ended. */
  async fence(): Promise<void> {
    this.#set('fenced');
    await this.#commits.none();
  }

  get isShut(): boolean {
    return this.#access === 'closed';
  }

  /** Reads wait as well. */
  shut(): void {
    this.#set('closed');
  }

  open(): void {
    this.#set('open');
  }

  /** Refuses calls that wait, and every later one. */
  leave(moved: MovedError): void {
    this.#moved = moved;
    this.#set('closed');
  }

  #set(mode: AccessMode): void {
    this.#access = mode;
    const changed = this.#changed;
    this.#changed = signal();
    changed.resolve();
  }

  #settle({ puts, deletes, adds = [] }: CommitBatch): void {
    const notes = this.#notes;
    if (notes !== undefined) {
      for (const { key } of puts) notes.set(nameOfBytes(key), key);
      for (const key of deletes) notes.set(nameOfBytes(key), key);
      for (const { key } of adds) notes.set(nameOfBytes(key), key);
    }
    this.#commits.end();
  }

  async #later<Result>(kind: 'read' | 'write', call: () => Promise<Result>): Promise<Result> {
    const late = () => new StoreUnavailableError('The data are just moving to another place.');
    await within(this.#let(kind), { limitMs: waitMillisMax, timers: this.#timers, late });
    return call();
  }

  async #let(kind: 'read' | 'write'): Promise<void> {
    const isKeptOut = (): boolean =>
      this.#access === 'closed' || (kind === 'write' && this.#access === 'fenced');
    while (isKeptOut()) {
      if (this.#moved !== undefined) throw this.#moved;
      await this.#changed.promise;
    }
  }
}

interface Signal {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function signal(): Signal {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
