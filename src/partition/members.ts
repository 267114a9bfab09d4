import { compareBytes, type Bytes } from '../base/bytes.js';
import type { DiskWatch } from '../base/disk/disk-watch.js';
import { StoreFullError, StoreUnavailableError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';

/** This process has not opened a store. Nothing was done. */
export class StoreNotOpenError extends StoreUnavailableError {
  constructor(store: string) {
    super(
      `This server has not opened the store '${store}'. Give it its location: tabularium partition ` +
        `store add ${store} LOCATION.`,
    );
  }
}

export interface MembersOptions {
  readonly homeUntil?: Bytes;
  /** The disk of a store. Undefined: the store has none here, or looks after it by itself. */
  readonly diskOf?: (name: string) => MemberDisk | undefined;
}

export type MemberDisk = Pick<DiskWatch, 'isLow' | 'isStillLow' | 'isLowNow'>;

/** The stores that a key space is made of, by name. */
export class Members {
  readonly homeName: string;
  /**
   * Data with keys before this one cannot move, because their commits also touch keys of the store
   * itself. Undefined: all data may move.
   */
  readonly homeUntil: Bytes | undefined;
  readonly #diskOf: (name: string) => MemberDisk | undefined;
  readonly #stores: Map<string, MemberStore>;
  readonly #admissions = new WeakMap<MemberStore, string>();

  /** `homeName`: the store that has the catalogue. */
  constructor(
    homeName: string,
    stores: ReadonlyMap<string, MemberStore>,
    { homeUntil, diskOf = () => undefined }: MembersOptions = {},
  ) {
    this.homeName = homeName;
    this.homeUntil = homeUntil;
    this.#diskOf = diskOf;
    this.#stores = new Map(stores);
  }

  get home(): MemberStore {
    return this.named(this.homeName);
  }

  get all(): readonly MemberStore[] {
    return [...this.#stores.values()];
  }

  get names(): readonly string[] {
    return [...this.#stores.keys()];
  }

  has(name: string): boolean {
    return this.#stores.has(name);
  }

  /** Whether a range must stay in the home store. */
  isBound({ start }: { readonly start: Bytes }): boolean {
    return this.homeUntil !== undefined && compareBytes(start, this.homeUntil) < 0;
  }

  /** Whether a store may get more data, as its disk has more than its reserve left. */
  async hasRoom(name: string): Promise<boolean> {
    return (await this.#diskOf(name)?.isLowNow()) !== true;
  }

  /**
   * To be called before a store gets a commit that grows. Rejects with `StoreFullError` while its
   * disk has only its reserve left; undefined when there was more at the last look.
   */
  growth(name: string): Promise<void> | undefined {
    const disk = this.#diskOf(name);
    return disk?.isLow === true ? assertNoLongerLow(disk, name) : undefined;
  }

  add(name: string, store: MemberStore): void {
    this.#stores.set(name, store);
  }

  remove(name: string): void {
    this.#stores.delete(name);
  }

  /** Notes the admission that the row of a store has, as a member of this key space. */
  noteAdmission(store: MemberStore, admission: string): void {
    this.#admissions.set(store, admission);
  }

  /** The admission that a store had when its row was seen last, if it was. */
  admissionOf(store: MemberStore): string | undefined {
    return this.#admissions.get(store);
  }

  /** The store of that name. Throws `StoreNotOpenError` when this process has not opened it. */
  named(name: string): MemberStore {
    const store = this.#stores.get(name);
    if (store !== undefined) return store;
    throw new StoreNotOpenError(name);
  }
}

async function assertNoLongerLow(disk: MemberDisk, name: string): Promise<void> {
  if (!(await disk.isStillLow())) return;
  throw new StoreFullError(
    `The disk of the store '${name}' is full but for a reserve, which is left to deletions.`,
  );
}
