/** Counts work in flight, so that others can wait until there is none. */
export class InFlight {
  #count = 0;
  readonly #whenNone: (() => void)[] = [];

  /** Counts work that has begun. Each `begin` needs one `end`. */
  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) for (const resolve of this.#whenNone.splice(0)) resolve();
  }

  /** Counts work until its result settles. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.begin();
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /** Resolves at the first moment, from now on, at which no work is in flight. */
  async none(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#whenNone.push(resolve));
  }
}
