import type { ContentStore } from '../content/content-store.js';
import type { Clock } from '../base/clock.js';
import { canSnapshot, type SnapshotStore, type StoreSnapshot } from '../kv/snapshots.js';
import type { Store } from '../kv/store.js';
import type { ReadWriteLock } from '../base/async/read-write-lock.js';
import { movingText, WatchedStore } from './moves/watched-store.js';
import type { Sharing } from './open-engine.js';

/** A snapshot cannot be taken or restored; the message says why. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

export interface SnapshotInfo {
  readonly name: string;
  /** Microseconds since 1970. */
  readonly takenMicros: number;
  /** The number of entries: entities, messages, names of tables and the like. */
  readonly entries: number;
}

/** Saving and restoring the data of a server, between tests. */
export interface SnapshotControl {
  /**
   * Deletes all tables, queues and properties of services. Accounts, settings and snapshots stay.
   * Waits for requests whose work has begun; others wait for the reset.
   */
  reset(): Promise<void>;
  /**
   * Saves the current data under a name, in memory, until the server closes; replaces a snapshot of
   * this name. Throws `SnapshotError`.
   */
  snapshot(name: string): Promise<void>;
  /**
   * Restores the data of a snapshot: entities with their timestamps and etags, messages with their
   * receipts and times. Otherwise as `reset`. Throws `SnapshotError` when there is no snapshot of
   * the name.
   */
  restore(name: string): Promise<void>;
  /** In the order of their first use. */
  readonly snapshots: readonly SnapshotInfo[];
  /** Returns false when there was none. */
  deleteSnapshot(name: string): boolean;
}

export interface SnapshotsOptions {
  readonly store: Store;
  /** The content to which the store refers. */
  readonly content: Pick<ContentStore, 'retain' | 'suspectAll'>;
  readonly sharing: Sharing;
  readonly lock: ReadWriteLock;
  readonly clock: Clock;
  /** Called after the data were replaced: caches of the services are invalid. */
  readonly onReplaced: () => void;
}

const snapshotsMax = 100;
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

interface NamedSnapshot {
  readonly takenMicros: number;
  readonly snapshot: StoreSnapshot;
  /** Lets go of the content that the snapshot names. */
  readonly release: () => void;
}

/** The named snapshots of one server. */
export class Snapshots implements SnapshotControl {
  readonly #options: SnapshotsOptions;
  readonly #kept = new Map<string, NamedSnapshot>();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  get snapshots(): readonly SnapshotInfo[] {
    return Array.from(
      this.#kept,
      ([
        name,
        {
          takenMicros,
          snapshot: { entries },
        },
      ]) => ({
        name,
        takenMicros,
        entries,
      }),
    );
  }

  async reset(): Promise<void> {
    await this.#replace(() => undefined);
  }

  async snapshot(name: string): Promise<void> {
    this.#assertAlone();
    if (!nameForm.test(name)) {
      throw new SnapshotError(
        `'${name.slice(0, 100)}' cannot name a snapshot: use 1 to 100 letters, digits and . _ -, ` +
          'and begin with a letter or digit.',
      );
    }
    if (!this.#kept.has(name) && this.#kept.size >= snapshotsMax) {
      throw new SnapshotError(
        `There are ${snapshotsMax} snapshots already: delete one, or use one of their names again.`,
      );
    }
    const { lock, clock, content } = this.#options;
    const store = this.#store();
    await lock.write(async () => {
      const release = content.retain();
      try {
        const snapshot = await store.takeSnapshot();
        this.#kept.get(name)?.release();
        this.#kept.set(name, { takenMicros: clock.nowMicros(), snapshot, release });
      } catch (error) {
        release();
        throw error;
      }
    });
  }

  async restore(name: string): Promise<void> {
    await this.#replace(() => this.#find(name));
  }

  deleteSnapshot(name: string): boolean {
    this.#kept.get(name)?.release();
    return this.#kept.delete(name);
  }

  /** Lets go of all snapshots: the server closes. */
  close(): void {
    for (const name of this.#kept.keys()) this.deleteSnapshot(name);
  }

  #find(name: string): StoreSnapshot {
    const found = this.#kept.get(name);
    if (found !== undefined) return found.snapshot;
    const names = Array.from(this.#kept.keys()).join(', ');
    throw new SnapshotError(
      `There is no snapshot '${name.slice(0, 100)}'; ${names === '' ? 'there is none' : `there is: ${names}`}.`,
    );
  }

  async #replace(by: () => StoreSnapshot | undefined): Promise<void> {
    this.#assertAlone();
    const { lock, content, onReplaced } = this.#options;
    const store = this.#store();
    await lock.write(async () => {
      const snapshot = by();
      try {
        // The restored data may not refer to present extents, so all of them are suspects. Only
        // commits with an unknown outcome may still be applied, and what these name is left alone.
        await content.suspectAll();
        await store.restoreSnapshot(snapshot);
      } finally {
        onReplaced();
      }
    });
  }

  #store(): SnapshotStore {
    const { store } = this.#options;
    if (store instanceof WatchedStore && store.isMoving) throw new SnapshotError(movingText);
    if (canSnapshot(store)) return store;
    throw new SnapshotError(
      'Data in a database or in several stores cannot be set back. Use a server in memory, or one ' +
        'with a single data directory.',
    );
  }

  #assertAlone(): void {
    if (this.#options.sharing === 'exclusive') return;
    throw new SnapshotError(
      'Data that several processes serve cannot be set back: the other processes would go on with ' +
        'what they remember. Serve them with one process.',
    );
  }
}
