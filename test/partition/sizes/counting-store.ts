import { StoreUnavailableError } from '../../../src/kv/errors.js';
import type { MemberStore } from '../../../src/kv/member-store.js';

export interface Traffic {
  calls: number;
  rows: number;
  bytes: number;
}

/** A store whose calls are counted, and that can be lost. */
export class CountingStore {
  readonly traffic: Traffic = { calls: 0, rows: 0, bytes: 0 };
  isLost = false;
  readonly store: MemberStore;

  constructor(store: MemberStore) {
    this.store = {
      get: (key, options) => this.#call(async () => this.#read([await store.get(key, options)])[0]),
      getMany: (keys, options) =>
        this.#call(async () => this.#read(await store.getMany(keys, options))),
      range: (range, options) =>
        this.#call(async () => {
          const page = await store.range(range, options);
          this.#read(page.entries);
          return page;
        }),
      sample: (range, cuts, options) => this.#call(() => store.sample(range, cuts, options)),
      commit: (batch) => this.#call(() => store.commit(batch)),
      fence: (batch) => this.#call(() => store.fence(batch)),
      ingest: (ingestion) => this.#call(() => store.ingest(ingestion)),
      close: () => store.close(),
    };
  }

  /** What was counted since the last time. */
  take(): Traffic {
    const taken = { ...this.traffic };
    Object.assign(this.traffic, { calls: 0, rows: 0, bytes: 0 });
    return taken;
  }

  #call<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.isLost) return Promise.reject(new StoreUnavailableError('The store is gone.'));
    this.traffic.calls += 1;
    return work();
  }

  #read<Found extends readonly ({ key: Uint8Array; value: Uint8Array } | undefined)[]>(
    entries: Found,
  ): Found {
    for (const entry of entries) {
      if (entry === undefined) continue;
      this.traffic.rows += 1;
      this.traffic.bytes += entry.key.length + entry.value.length;
    }
    return entries;
  }
}
