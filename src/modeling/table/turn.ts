/** Turns that are looked at to find a circle. Beyond, none is found, and a wait ends by itself. */
const turnsMax = 1000;

/**
 * The turn of a change in the lines of its rows. A change hands it to changes that it makes itself,
 * so that these do not wait for what waits for it.
 */
export class Turn {
  readonly #outer: Turn | undefined;
  /** Those that must end first: changes before it in a line, and changes within it. */
  readonly #awaited = new Set<Turn>();

  constructor(outer?: Turn) {
    this.#outer = outer;
    if (outer !== undefined) outer.#awaited.add(this);
  }

  /**
   * Whether it has to wait for another one before it starts: not where that one ends only after a
   * change that this one is within.
   */
  waitsFor(other: Turn): boolean {
    if (this.#outer !== undefined && this.#isWithinWhat(other)) return false;
    this.#awaited.add(other);
    return true;
  }

  /** It has waited long enough. */
  start(): void {
    this.#awaited.clear();
  }

  end(): void {
    this.#awaited.clear();
    if (this.#outer !== undefined) this.#outer.#awaited.delete(this);
  }

  #isWithinWhat(other: Turn): boolean {
    const outers = new Set<Turn>();
    for (let each = this.#outer; each !== undefined; each = each.#outer) outers.add(each);
    const looked = new Set([other]);
    for (const each of looked) {
      if (outers.has(each)) return true;
      if (looked.size > turnsMax) return false;
      for (const next of each.#awaited) looked.add(next);
    }
    return false;
  }
}
