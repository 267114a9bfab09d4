import { invariant } from '../../base/invariant.js';

export interface Reclaimed {
  /** Entries whose space is free now. */
  readonly deleted: number;
  /** Whether another step would find something to do at once. */
  readonly more: boolean;
}

/** Places that one step looks at, so that no step keeps requests waiting long. */
const visitsMax = 500;

/**
 * Goes round all places that may hold what nobody needs any more and deletes it, a bounded number
 * of entries and places a step. A step begins where the one before it ended, so a place with much
 * to delete does not keep the others from their turn. Steps may run side by side.
 */
export class SweepCursor<Place> {
  readonly #places: () => AsyncGenerator<Place>;
  readonly #clear: (place: Place, entriesMax: number) => Promise<Reclaimed>;
  #walk: AsyncGenerator<Place> | undefined;
  /** Whether a place of this round had more to delete than its step allowed. */
  #left = false;

  /**
   * `places` walks over all of them. `clear` deletes up to so many entries of one, and says whether
   * there are more.
   */
  constructor(
    places: () => AsyncGenerator<Place>,
    clear: (place: Place, entriesMax: number) => Promise<Reclaimed>,
  ) {
    this.#places = places;
    this.#clear = clear;
  }

  /** `more`: this round is not over, or it has left something. `entriesMax` is at least 1. */
  async step(entriesMax: number): Promise<Reclaimed> {
    invariant(entriesMax >= 1, 'a step of reclaiming deletes at least one entry');
    // Another step may run beside this one: it can end the round, and one of its own can begin.
    const walk = (this.#walk ??= this.#places());
    try {
      return await this.#go(walk, entriesMax);
    } catch (error) {
      this.#end(walk);
      throw error;
    }
  }

  async #go(walk: AsyncGenerator<Place>, entriesMax: number): Promise<Reclaimed> {
    let deleted = 0;
    for (let visits = 0; visits < visitsMax && deleted < entriesMax; visits += 1) {
      const next = await walk.next();
      if (next.done === true) return { deleted, more: this.#end(walk) };
      const cleared = await this.#clear(next.value, entriesMax - deleted);
      deleted += cleared.deleted;
      this.#left ||= cleared.more;
    }
    return { deleted, more: true };
  }

  /** Whether there is something to do at once. */
  #end(walk: AsyncGenerator<Place>): boolean {
    if (this.#walk !== walk) return true;
    const left = this.#left;
    this.#walk = undefined;
    this.#left = false;
    return left;
  }
}
