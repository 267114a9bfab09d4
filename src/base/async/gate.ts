/** Runs a bounded number of tasks at a time, in order of arrival. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#free = Math.max(1, concurrency);
  }

  async run<R>(work: () => Promise<R>): Promise<R> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
