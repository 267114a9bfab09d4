import type {
  ListBlob,
  ListBlobs,
} from '../../../src/modeling/patterns/index-entities/list-blobs.js';

/** Lists of an index in memory, which stand for those in blobs. */
export class MemoryLists implements ListBlobs {
  readonly #blobs = new Map<string, ListBlob>();
  #writes = 0;

  /** The same lists, which change by themselves. */
  copy(): MemoryLists {
    const copy = new MemoryLists();
    for (const [name, blob] of this.#blobs) copy.#blobs.set(name, blob);
    copy.#writes = this.#writes;
    return copy;
  }

  read(name: string): Promise<ListBlob | undefined> {
    return Promise.resolve(this.#blobs.get(name));
  }

  write(name: string, list: readonly string[], etag: string | undefined): Promise<boolean> {
    return this.#unlessOther(name, etag, () => {
      this.#writes += 1;
      this.#blobs.set(name, { list, etag: `"${this.#writes}"` });
    });
  }

  delete(name: string, etag: string): Promise<boolean> {
    return this.#unlessOther(name, etag, () => this.#blobs.delete(name));
  }

  names(): Promise<{ readonly names: readonly string[] }> {
    return Promise.resolve({ names: [...this.#blobs.keys()].sort() });
  }

  #unlessOther(name: string, etag: string | undefined, change: () => unknown): Promise<boolean> {
    const isSame = this.#blobs.get(name)?.etag === etag;
    if (isSame) change();
    return Promise.resolve(isSame);
  }
}
