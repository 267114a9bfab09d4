import type { Distribution } from './distribution.js';

/** Values that are told apart; further ones are counted together. */
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
   * How often the values occurred. Undefined when most were different ones, so that a count of them
   * tells nothing about those that were not seen.
   */
  distribution(isWhole: boolean): Distribution | undefined {
    const values = this.#counts.size + this.#others;
    return values * 2 > this.#total ? undefined : this.all(isWhole);
  }

  /** The same, however different the values were. Undefined when there was none. */
  all(isWhole: boolean): Distribution | undefined {
    if (this.#total === 0) return undefined;
    return Object.freeze({
      kind: 'counts',
      counts: Object.freeze(Object.fromEntries(this.#counts)),
      // Each is taken for a value of its own.
      otherValues: this.#others,
      otherCount: this.#others,
      isWhole,
    });
  }
}
