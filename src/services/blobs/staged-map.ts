import type { Bytes } from '../../base/bytes.js';
import { newId, type BlobContext } from './blob-context.js';
import { Changes } from './changes.js';
import { ContentGoneError } from './contents.js';
import { encodeGroupGarbage } from './garbage.js';
import { blobKind, type BlobKeys } from './keys.js';

type Context = Pick<BlobContext, 'store' | 'clock' | 'randomness'>;

/**
 * A page map that several commits write before a record refers to it. Until then it is listed as
 * garbage, so that it is freed when the work is not continued. Each commit restarts its grace, and
 * fails when a sweep has begun to free it.
 */
export class StagedMap {
  /** The id of the content. */
  readonly id: Bytes;
  readonly #context: Context;
  readonly #noteKey: Bytes;
  /** The version of the garbage entry. */
  #version: number | 'absent' = 'absent';

  constructor(context: Context, keys: BlobKeys) {
    this.#context = context;
    this.id = newId(context);
    this.#noteKey = keys.groupGarbage(blobKind.page, this.id);
  }

  /** Commits a part. Throws `ContentGoneError` when a sweep was faster. */
  async add(plan: (changes: Changes) => void): Promise<void> {
    const { store, clock } = this.#context;
    const changes = new Changes();
    plan(changes);
    const bornMicros = clock.nowMicros();
    changes.put(this.#noteKey, encodeGroupGarbage({ bornMicros, pieces: 'released' }));
    const { checks, ...writes } = changes.batch();
    const own = { key: this.#noteKey, version: this.#version };
    const committed = await store.commit({ ...writes, checks: [...checks, own] });
    if (!committed.ok) throw new ContentGoneError();
    this.#version = committed.version;
  }

  /** Makes the commit refer to the map. Throws `ContentGoneError` when a sweep was faster. */
  async finish(changes: Changes): Promise<void> {
    const note = await this.#context.store.get(this.#noteKey);
    if (note?.version !== this.#version) throw new ContentGoneError();
    changes.checkRead(this.#noteKey, note);
    changes.delete(this.#noteKey);
  }
}
