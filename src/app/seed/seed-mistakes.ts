import { SeedError } from './seed-data.js';

/** Reported mistakes, at most; a file that is wrong throughout repeats the same mistake. */
export const mistakesMax = 20;

/** Collects the mistakes of a seed, in order, so that all can be fixed at once. */
export class SeedMistakes {
  readonly #found: SeedError[] = [];

  /** True when further mistakes would not be reported. */
  get isFull(): boolean {
    return this.#found.length >= mistakesMax;
  }

  /** Runs a check and records the mistake that it throws. */
  note(check: () => void): void {
    if (this.isFull) return;
    try {
      check();
    } catch (error) {
      if (!(error instanceof SeedError)) throw error;
      this.#found.push(error);
    }
  }

  /** Throws one `SeedError` with all mistakes; does nothing when there are none. */
  throwAll(): void {
    const [first, ...others] = this.#found;
    if (first === undefined) return;
    throw new SeedError(first.path, first.reason, first.entity, others);
  }
}
