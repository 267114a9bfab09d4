import { StoreUnavailableError } from '../kv/errors.js';
import type { MemberStore } from '../kv/member-store.js';

/** The stores that a key space is made of, by name. */
export class Members {
  readonly homeName: string;
  readonly #stores: ReadonlyMap<string, MemberStore>;

  /** `homeName`: the store that has the catalogue. */
  constructor(homeName: string, stores: ReadonlyMap<string, MemberStore>) {
    this.homeName = homeName;
    this.#stores = stores;
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

  /** Throws `StoreUnavailableError` for a store that the process does not know. */
  named(name: string): MemberStore {
    const store = this.#stores.get(name);
    if (store !== undefined) return store;
    throw new StoreUnavailableError(`This process has not opened the store '${name}'.`);
  }
}
