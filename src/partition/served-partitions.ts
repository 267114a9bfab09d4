import type { GuardedBatch } from '../kv/guards.js';
import type { MemberStore } from '../kv/member-store.js';
import type { RangedStore } from '../kv/ranged-store.js';
import type { ServedStore } from '../kv/served-store.js';
import type { CommitResult, Entry, KeyRange, RangeOptions, RangePage } from '../kv/store.js';
import type { Bytes } from '../base/bytes.js';
import type { PartitionedStore } from './store.js';

/** A store that can be a member and reports its state. */
export type ServedMember = MemberStore & ServedStore;

/** A partitioned store with the state that a server reports. */
export class ServedPartitions implements ServedStore, RangedStore {
  /** Stores have clocks of their own. */
  readonly versionsGlobal = false;
  readonly #store: PartitionedStore;
  readonly #home: ServedMember;
  readonly #members: () => Iterable<ServedMember>;

  /** `members` returns the current stores. `home`: the store with the catalogue. */
  constructor(store: PartitionedStore, home: ServedMember, members: () => Iterable<ServedMember>) {
    this.#store = store;
    this.#home = home;
    this.#members = members;
  }

  get(key: Bytes): Promise<Entry | undefined> {
    return this.#store.get(key);
  }

  getMany(keys: readonly Bytes[]): Promise<(Entry | undefined)[]> {
    return this.#store.getMany(keys);
  }

  range(range: KeyRange, options: RangeOptions): Promise<RangePage> {
    return this.#store.range(range, options);
  }

  commit(batch: GuardedBatch): Promise<CommitResult> {
    return this.#store.commit(batch);
  }

  rangesIn(interval: KeyRange): readonly number[] {
    return this.#store.rangesIn(interval);
  }

  async lastVersion(): Promise<number> {
    const versions = await Promise.all(Array.from(this.#members(), (each) => each.lastVersion()));
    return Math.max(0, ...versions);
  }

  /**
   * The trouble of the home store. Trouble of another store concerns only the ranges of that store.
   */
  trouble(): Error | undefined {
    return this.#home.trouble();
  }

  /** Whether one of the current stores has lost commits. */
  hasLost(): boolean {
    return [...this.#members()].some((member) => member.hasLost?.() === true);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}
