import type { Guarded, GuardedBatch, GuardedRangeOptions } from '../../src/kv/guards.js';
import type { Ingestion } from '../../src/kv/ingestion.js';
import type { RangeSample } from '../../src/kv/sample.js';
import type { SnapshotStore, StoreSnapshot } from '../../src/kv/snapshots.js';
import type { CommitBatch, CommitResult, Entry, KeyRange, RangePage } from '../../src/kv/store.js';
import type { JournalBase } from '../../src/engines/journal/store.js';
import type { ModelData } from './model-data.js';
import type { Process } from './model-disk.js';

/** The data file as one process sees it: writes take time, may fail, and stop with the process. */
export class ModelBase implements JournalBase, SnapshotStore {
  readonly versionsGlobal = true;
  readonly #data: ModelData;
  readonly #process: Process;

  constructor(data: ModelData, process: Process) {
    this.#data = data;
    this.#process = process;
    data.owner = process;
  }

  get(key: Uint8Array, options?: Guarded): Promise<Entry | undefined> {
    return this.#data.store.get(key, options);
  }

  async getMany(keys: readonly Uint8Array[], options?: Guarded): Promise<(Entry | undefined)[]> {
    await this.#pause();
    return this.#data.store.getMany(keys, options);
  }

  async range(range: KeyRange, options: GuardedRangeOptions): Promise<RangePage> {
    await this.#pause();
    return this.#data.store.range(range, options);
  }

  commit(batch: GuardedBatch): Promise<CommitResult> {
    return this.#data.store.commit(batch);
  }

  fence(batch: CommitBatch): Promise<CommitResult> {
    return this.#data.store.fence(batch);
  }

  ingest(ingestion: Ingestion): Promise<void> {
    return this.#data.write(this.#process, (store) => store.ingest(ingestion));
  }

  sample(range: KeyRange, cuts: number, options?: Guarded): Promise<RangeSample> {
    return this.#data.store.sample(range, cuts, options);
  }

  lastVersion(): Promise<number> {
    return this.#data.store.lastVersion();
  }

  takeSnapshot(): Promise<StoreSnapshot> {
    return this.#data.store.takeSnapshot();
  }

  restoreSnapshot(snapshot?: StoreSnapshot, beside?: readonly Entry[]): Promise<void> {
    return this.#data.write(this.#process, (store) => store.restoreSnapshot(snapshot, beside));
  }

  space() {
    return { reusableBytes: 0, owedBytes: 0 };
  }

  trouble(): Error | undefined {
    return undefined;
  }

  /** The data remain for the next process. */
  async close(): Promise<void> {
    await this.#process.schedule.step();
  }

  async #pause(): Promise<void> {
    if (this.#process.random.chance(0.2)) await this.#process.schedule.step();
  }
}
