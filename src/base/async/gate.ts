/** Runs a bounded number of tasks at a time, in order of arrival. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#free = Math.max(1, concurrency);
  }

  /** Resolves when a task may begin; undefined: at once. Each `enter` needs one `leave`. */
  enter(): Promise<void> | undefined {
    if (this.#free === 0) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#free -= 1;
    return undefined;
  }

  /** A task has ended: the next in line begins, if there is one. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  async run<R>(work: () => Promise<R>): Promise<R> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }
}
