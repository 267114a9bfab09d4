/** Scopes that one search for a cycle visits. Beyond, it finds none, and the wait times out. */
const scopesMax = 1000;

/**
 * The scope of a change that waits or runs. A change passes its scope to the changes that it makes
 * itself, so that these do not wait for a change that waits for it. The scopes form a wait-for
 * graph.
 */
export class UpdateScope {
  readonly #outer: UpdateScope | undefined;
  /** Those that must end first: changes before it in a queue, and changes within it. */
  readonly #awaited = new Set<UpdateScope>();

  constructor(outer?: UpdateScope) {
    this.#outer = outer;
    if (outer !== undefined) outer.#awaited.add(this);
  }

  /**
   * Whether this change has to wait for another one before it starts. It must not when the other
   * one ends only after a change that this one is within: the wait would be a deadlock.
   */
  waitsFor(other: UpdateScope): boolean {
    if (this.#outer !== undefined && this.#isDeadlock(other)) return false;
    this.#awaited.add(other);
    return true;
  }

  /** The change starts, whether those before it have ended or not. */
  start(): void {
    this.#awaited.clear();
  }

  end(): void {
    this.#awaited.clear();
    if (this.#outer !== undefined) this.#outer.#awaited.delete(this);
  }

  /** Whether another change waits, by however many steps, for one that this change is within. */
  #isDeadlock(other: UpdateScope): boolean {
    const outers = new Set<UpdateScope>();
    for (let each = this.#outer; each !== undefined; each = each.#outer) outers.add(each);
    const looked = new Set([other]);
    for (const each of looked) {
      if (outers.has(each)) return true;
      if (looked.size > scopesMax) return false;
      for (const next of each.#awaited) looked.add(next);
    }
    return false;
  }
}
