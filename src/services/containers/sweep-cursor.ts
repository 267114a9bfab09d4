import { invariant } from '../../base/invariant.js';

export interface Reclaimed {
  /** The number of freed entries. */
  readonly deleted: number;
  /** True when another step would find work at once. */
  readonly more: boolean;
}

/** The places that one step visits, so that no step blocks requests for long. */
const visitsMax = 500;

/**
 * Sweeps all places that may hold garbage, with a bounded number of entries and places per step. A
 * step begins where the last one ended, so a place with much garbage does not starve the others.
 * Steps may run concurrently.
 */
export class SweepCursor<Place> {
  readonly #places: () => AsyncGenerator<Place>;
  readonly #clear: (place: Place, entriesMax: number) => Promise<Reclaimed>;
  #walk: AsyncGenerator<Place> | undefined;
  /** True when a place of this round had more to delete than its step allowed. */
  #left = false;

  /**
   * `places` iterates over all of them. `clear` deletes up to `entriesMax` entries of a place, and
   * returns whether there are more.
   */
  constructor(
    places: () => AsyncGenerator<Place>,
    clear: (place: Place, entriesMax: number) => Promise<Reclaimed>,
  ) {
    this.#places = places;
    this.#clear = clear;
  }

  /** `more`: the round is not over, or it has left garbage. `entriesMax` is at least 1. */
  async step(entriesMax: number): Promise<Reclaimed> {
    invariant(entriesMax >= 1, 'a step of reclaiming deletes at least one entry');
    // A concurrent step can end the round and begin a new one.
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

  /** Ends a round. Returns true when there is work left. */
  #end(walk: AsyncGenerator<Place>): boolean {
    if (this.#walk !== walk) return true;
    const left = this.#left;
    this.#walk = undefined;
    this.#left = false;
    return left;
  }
}
