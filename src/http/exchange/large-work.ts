/**
 * How many requests are at work at a time that take many times their bytes: those with a long
 * header while its filter or other options are read, and long answers while they are put together.
 */
const atWorkMax = 8;

/** Lets so many large requests work at a time. Others wait in order, and hold only their bytes. */
export class LargeWork {
  readonly #waiting: (() => void)[] = [];
  #atWork = 0;

  /** Resolves when there is room. Then `leave` has to be called, once. */
  async enter(): Promise<void> {
    if (this.#atWork < atWorkMax) {
      this.#atWork += 1;
      return;
    }
    // Whoever leaves hands its place over.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#atWork -= 1;
    else next();
  }
}
