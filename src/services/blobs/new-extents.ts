import type { Bytes } from '../../base/bytes.js';
import type { ContentStore, Extent, ExtentId } from '../../content/content-store.js';
import { CommitUnknownError } from '../../kv/errors.js';

/** Extents that were stored for a commit which is still to come. */
export class NewExtents {
  readonly #content: ContentStore;
  #ids: ExtentId[] = [];

  constructor(content: ContentStore) {
    this.#content = content;
  }

  async put(source: AsyncIterable<Buffer>, owner: Bytes): Promise<Extent> {
    return this.#noted(await this.#content.put(source, owner));
  }

  async link(id: ExtentId, owner: Bytes): Promise<Extent> {
    return this.#noted(await this.#content.link(id, owner));
  }

  /** To be called when a commit that names them was acknowledged. */
  confirm(): void {
    this.#content.confirm(this.#ids);
    this.#ids = [];
  }

  /** To be called when no commit names them and none will. */
  async free(): Promise<void> {
    if (this.#ids.length > 0) await this.#content.free(this.#ids);
  }

  #noted(extent: Extent): Extent {
    this.#ids.push(extent.id);
    return extent;
  }
}

/**
 * Runs work that stores extents and commits their names. When it fails those that it has not
 * confirmed are freed, unless the commit may have been applied: then they keep waiting, and the
 * sweep of the content store decides when this session has ended.
 */
export async function withNewExtents<T>(
  content: ContentStore,
  work: (extents: NewExtents) => Promise<T>,
): Promise<T> {
  const extents = new NewExtents(content);
  try {
    const result = await work(extents);
    extents.confirm();
    return result;
  } catch (error) {
    // Extents that cannot be freed keep waiting too. The caller learns why the work has failed.
    if (!(error instanceof CommitUnknownError)) await extents.free().catch(() => undefined);
    throw error;
  }
}
