import type { Distribution } from './distribution.js';

/** Values that are counted one by one; further ones are counted together. */
const valuesMax = 10_000;

/** Counts how often values occur, in bounded memory. */
export class ValueCounter {
  readonly #counts = new Map<string, number>();
  #others = 0;
  #total = 0;

  add(value: string): void {
    this.#total += 1;
    const count = this.#counts.get(value);
    if (count !== undefined) this.#counts.set(value, count + 1);
    else if (this.#counts.size < valuesMax) this.#counts.set(value, 1);
    else this.#others += 1;
  }

  /**
   * How often the values occurred. Undefined when most were distinct, because their counts then say
   * nothing about values that were not seen.
   */
  distribution(isWhole: boolean): Distribution | undefined {
    const values = this.#counts.size + this.#others;
    return values * 2 > this.#total ? undefined : this.all(isWhole);
  }

  /** The same, however many values were distinct. Undefined when there was none. */
  all(isWhole: boolean): Distribution | undefined {
    if (this.#total === 0) return undefined;
    return Object.freeze({
      kind: 'counts',
      counts: Object.freeze(Object.fromEntries(this.#counts)),
      // Each counts as a distinct value.
      otherValues: this.#others,
      otherCount: this.#others,
      isWhole,
    });
  }
}
