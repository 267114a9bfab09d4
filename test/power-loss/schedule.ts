import { setImmediate } from 'node:timers/promises';
import type { SimRandom } from '../support/sim-random.js';

/** What a process waits for: the disk and the data file, which answer when the simulation says so. */
export class Schedule {
  readonly #random: SimRandom;
  readonly #waiting: (() => void)[] = [];
  readonly #outside = new Set<Promise<unknown>>();
  #isOver = false;

  constructor(random: SimRandom) {
    this.#random = random;
  }

  /** Whether the process is gone. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when it is this one's turn; never after the end. */
  step(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#isOver) this.#waiting.push(resolve);
    });
  }

  /** Work of the real system, whose end every moment waits for. */
  async outside<Result>(work: Promise<Result>): Promise<Result> {
    this.#outside.add(work);
    try {
      return await work;
    } finally {
      this.#outside.delete(work);
    }
  }

  /** Lets one of those that wait go on, and all that follows from it come to rest. */
  async advance(): Promise<void> {
    if (this.#waiting.length > 0) {
      const [next] = this.#waiting.splice(this.#random.int(this.#waiting.length), 1);
      next?.();
    }
    await this.rest();
  }

  async rest(): Promise<void> {
    await setImmediate();
    while (this.#outside.size > 0) {
      await Promise.allSettled(this.#outside);
      await setImmediate();
    }
  }

  /** Nothing that waits goes on any more. */
  end(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
  }
}
