import { within } from '../../base/async/deadline.js';
import { deferred } from '../../base/async/deferred.js';
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

/** How long a call waits for the last step of a move, in milliseconds. */
const waitMillisMax = 10_000;

/** The refusal to replace data that are moving. */
export const movingText =
  'The data are moving to another location, so they cannot be set back. Call that off first: ' +
  'tabularium migrate --online --cancel.';

export type WatchableStore = ServedStore & SnapshotStore;

/** `fenced`: only reads are served. `closed`: nothing is. Other calls wait. */
type AccessMode = 'open' | 'fenced' | 'closed';

/**
 * All access of a server to a store whose data may move. Usually calls go straight to the store.
 * During a move it notes the keys that are written, and holds calls back in the end.
 */
export class WatchedStore implements ServedStore, SnapshotStore, InstantVersions {
  readonly versionsGlobal: boolean;
  /** The store itself, for the code that moves its data. */
  readonly inner: WatchableStore;
  readonly #timers: Timers;
  #access: AccessMode = 'open';
  #moved: MovedError | undefined;
  /** The keys that were written since `note`; undefined while none are noted. */
  #notes: Map<string, Bytes> | undefined;
  readonly #commits = new InFlight();
  #isRestoring = false;
  /** Resolves when the mode has changed. */
  #changed = deferred();

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
    // Rejected commits are noted too, because they may have been applied.
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

  /** Whether the data are moving, or have moved, so that they cannot be replaced. */
  get isMoving(): boolean {
    return this.#notes !== undefined || this.#access !== 'open';
  }

  /** Whether the data are being replaced, during which written keys cannot be noted. */
  get isRestoring(): boolean {
    return this.#isRestoring;
  }

  /** Begins to note the keys of commits, including those under way. */
  note(): void {
    invariant(!this.#isRestoring, 'nobody notes what replaces everything');
    this.#notes = new Map();
  }

  get notedKeys(): number {
    return this.#notes?.size ?? 0;
  }

  /** Returns the keys that were noted, and forgets them. */
  takeNotes(): readonly Bytes[] {
    if (this.#notes === undefined || this.#notes.size === 0) return [];
    const keys = [...this.#notes.values()];
    this.#notes.clear();
    return keys;
  }

  endNotes(): void {
    this.#notes = undefined;
  }

  /** Holds further commits back. Resolves when those under way have ended. */
  async fence(): Promise<void> {
    this.#set('fenced');
    await this.#commits.none();
  }

  get isShut(): boolean {
    return this.#access === 'closed';
  }

  /** Holds reads back as well. */
  shut(): void {
    this.#set('closed');
  }

  open(): void {
    this.#set('open');
  }

  /** Refuses all calls from now on, waiting ones included. */
  leave(moved: MovedError): void {
    this.#moved = moved;
    this.#set('closed');
  }

  #set(mode: AccessMode): void {
    this.#access = mode;
    const changed = this.#changed;
    this.#changed = deferred();
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
    const late = () => new StoreUnavailableError('The data are just moving to another location.');
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
