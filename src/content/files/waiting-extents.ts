import type { ExtentId } from '../content-store.js';

/**
 * Extents that are told apart, some 10 MB. When more wait, the session has suspects whatever
 * becomes of them.
 */
const waitingMax = 100_000;

/** The extents of a session that wait for their commits. */
export class WaitingExtents {
  readonly #ids = new Set<ExtentId>();
  #isOverfull = false;

  get isEmpty(): boolean {
    return this.#ids.size === 0 && !this.#isOverfull;
  }

  begin(id: ExtentId): void {
    if (this.#ids.size < waitingMax) this.#ids.add(id);
    else this.#isOverfull = true;
  }

  /** Ignores ids that do not wait. */
  end(ids: readonly ExtentId[]): void {
    for (const id of ids) this.#ids.delete(id);
  }
}
