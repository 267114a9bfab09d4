/**
 * How many requests are at work at a time that take many times their bytes: those with a long
 * header while its filter or other options are read, those with a long body while it is read and
 * stored, and long answers while they are put together.
 */
const atWorkMax = 8;

/** Lets so many large requests work at a time. Others wait in order, and hold only their bytes. */
export class LargeWork {
  readonly #waiting: (() => void)[] = [];
  #atWork = 0;

  /** Does it when there is room. Rejects as it does. */
  async run<Arguments extends readonly unknown[], Result>(
    work: (...given: Arguments) => Promise<Result>,
    ...given: Arguments
  ): Promise<Result> {
    if (this.#atWork < atWorkMax) this.#atWork += 1;
    // Whoever leaves hands its place over.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work(...given);
    } finally {
      this.#leave();
    }
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#atWork -= 1;
    else next();
  }
}
