import { SeedError } from './seed-data.js';

/** How many mistakes are told; a file that is wrong throughout says the same again and again. */
export const mistakesMax = 20;

/** What is wrong with a seed, in order, so that all of it can be mended at once. */
export class SeedMistakes {
  readonly #found: SeedError[] = [];

  /** Nothing that is found further on would be told. */
  get isFull(): boolean {
    return this.#found.length >= mistakesMax;
  }

  /** Runs a check and keeps the mistake that it throws. */
  note(check: () => void): void {
    if (this.isFull) return;
    try {
      check();
    } catch (error) {
      if (!(error instanceof SeedError)) throw error;
      this.#found.push(error);
    }
  }

  /** Throws one `SeedError` that tells all, unless there is none. */
  throwAll(): void {
    const [first, ...others] = this.#found;
    if (first === undefined) return;
    throw new SeedError(first.path, first.reason, first.entity, others);
  }
}
