import type { ExtentId } from './content-store.js';

/**
 * Deferred ids that are remembered, some 100 MB. Later ones are found by the sweep of a later
 * session, for which everything is a suspect.
 */
const deferredMax = 1_000_000;

/** Who keeps extents from being deleted, and what was to be deleted meanwhile. */
export class Retentions {
  #held = 0;
  readonly #deferred = new Set<ExtentId>();

  get isHeld(): boolean {
    return this.#held > 0;
  }

  /** Something is held, or was deferred and is not settled. */
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

  /** Some of the deferred ids, which stay until they are `settle`d. None while something is held. */
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
