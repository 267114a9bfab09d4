import { StoreFailedError } from '../../kv/errors.js';
import type { Ingestion } from '../../kv/ingestion.js';
import type { MemberStore } from '../../kv/member-store.js';
import { appliedOf, noteKey } from './base-note.js';

export interface FencedBaseOptions {
  readonly base: Pick<MemberStore, 'get' | 'ingest'>;
  readonly generation: number;
  /** Called when the base has failed, or another process has taken over the journal. */
  readonly onFailed: (error: StoreFailedError) => void;
}

/** Refuses writes to the base after a later generation of the journal has begun. */
export class FencedBase {
  readonly #options: FencedBaseOptions;

  constructor(options: FencedBaseOptions) {
    this.#options = options;
  }

  /** `ingest` of the base. Rejects with `StoreFailedError` when a later generation has begun. */
  ingest(ingestion: Ingestion): Promise<void> {
    return this.write((base) => base.ingest(ingestion));
  }

  /** Any other write of the base. Rejects like `ingest`. */
  async write(write: (base: FencedBaseOptions['base']) => Promise<void>): Promise<void> {
    const { base, generation, onFailed } = this.#options;
    try {
      if (appliedOf(await base.get(noteKey)).generation > generation) {
        throw new StoreFailedError('Another process has taken over the journal and its data.');
      }
      await write(base);
    } catch (error) {
      if (error instanceof StoreFailedError) onFailed(error);
      throw error;
    }
  }
}
