import { invariant } from '../../base/invariant.js';

export interface Reclaimed {
  /** The number of freed entries. */
  readonly deleted: number;
  /** True when another step would find work at once. */
  readonly more: boolean;
}

/** The targets that one step visits, so that no step blocks requests for long. */
const visitsMax = 500;

/** The targets with known garbage. Further ones are found again by the next round. */
const unfinishedMax = 100;

export interface SweepTargets<Target> {
  /** Iterates over all targets that may hold garbage. */
  all(): AsyncGenerator<Target>;
  /** Identifies a target. */
  nameOf(target: Target): string;
  /** Deletes up to `entriesMax` entries of a target, and returns whether there are more. */
  clear(target: Target, entriesMax: number): Promise<Reclaimed>;
}

/**
 * Sweeps all targets that may hold garbage, with a bounded number of entries and targets per step.
 * One half of a step continues with targets that had more garbage than an earlier step allowed, in
 * turn. The other half continues the round over all targets, so a target with much garbage does not
 * starve the others, and many targets without garbage do not starve it. Steps may run concurrently.
 */
export class SweepCursor<Target> {
  readonly #targets: SweepTargets<Target>;
  #round: AsyncGenerator<Target> | undefined;
  /** The targets that have more garbage, by name; the first is cleared next. */
  readonly #unfinished = new Map<string, Target>();
  /** True when this round has met more targets with garbage than are remembered. */
  #left = false;

  constructor(targets: SweepTargets<Target>) {
    this.#targets = targets;
  }

  /** `more`: the round is not over, or it has left garbage. `entriesMax` is at least 1. */
  async step(entriesMax: number): Promise<Reclaimed> {
    invariant(entriesMax >= 1, 'a step of reclaiming deletes at least one entry');
    // A concurrent step can end the round and begin a new one.
    const round = (this.#round ??= this.#targets.all());
    try {
      const before = await this.#goOn(Math.floor(entriesMax / 2));
      const { deleted, more } = await this.#visit(round, entriesMax - before);
      const after = await this.#goOn(entriesMax - before - deleted);
      return { deleted: before + deleted + after, more: more || this.#unfinished.size > 0 };
    } catch (error) {
      this.#end(round);
      throw error;
    }
  }

  /** Clears the target that has waited longest for it. */
  async #goOn(entriesMax: number): Promise<number> {
    const [first] = this.#unfinished;
    if (first === undefined || entriesMax < 1) return 0;
    const [name, target] = first;
    this.#unfinished.delete(name);
    return this.#clear(target, entriesMax);
  }

  async #visit(round: AsyncGenerator<Target>, entriesMax: number): Promise<Reclaimed> {
    let deleted = 0;
    for (let visits = 0; visits < visitsMax && deleted < entriesMax; visits += 1) {
      const next = await round.next();
      if (next.done === true) return { deleted, more: this.#end(round) };
      if (this.#unfinished.has(this.#targets.nameOf(next.value))) continue;
      deleted += await this.#clear(next.value, entriesMax - deleted);
    }
    return { deleted, more: true };
  }

  async #clear(target: Target, entriesMax: number): Promise<number> {
    const { deleted, more } = await this.#targets.clear(target, entriesMax);
    if (!more) return deleted;
    if (this.#unfinished.size < unfinishedMax) {
      this.#unfinished.set(this.#targets.nameOf(target), target);
    } else this.#left = true;
    return deleted;
  }

  /** Ends a round. Returns true when it has left work that is not remembered. */
  #end(round: AsyncGenerator<Target>): boolean {
    if (this.#round !== round) return true;
    const left = this.#left;
    this.#round = undefined;
    this.#left = false;
    return left;
  }
}
