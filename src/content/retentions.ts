import type { ExtentId } from './content-store.js';

/**
 * The maximum number of deferred ids, some 100 MB. A later session finds the others, because
 * all extents are suspects for it.
 */
const deferredMax = 1_000_000;

/** Counts the readers that retain extents, and remembers the extents to delete afterwards. */
export class Retentions {
  #held = 0;
  readonly #deferred = new Set<ExtentId>();

  get isHeld(): boolean {
    return this.#held > 0;
  }

  /** True while extents are retained, or deferred ids are not settled. */
  get isBusy(): boolean {
    return this.isHeld || this.#deferred.size > 0;
  }

  retain(): () => void {
    let isReleased = false;
    this.#held += 1;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#held -= 1;
    };
  }

  /** Returns false when there is no room for all of them. */
  defer(ids: readonly ExtentId[]): boolean {
    for (const id of ids) {
      if (this.#deferred.size >= deferredMax) return this.#deferred.has(id);
      this.#deferred.add(id);
    }
    return true;
  }

  /**
   * Some of the deferred ids, which stay until they are `settle`d. None while something is held.
   */
  released(count: number): readonly ExtentId[] {
    const ids: ExtentId[] = [];
    if (this.isHeld) return ids;
    for (const id of this.#deferred) {
      if (ids.length === count) break;
      ids.push(id);
    }
    return ids;
  }

  settle(ids: readonly ExtentId[]): void {
    for (const id of ids) this.#deferred.delete(id);
  }
}
