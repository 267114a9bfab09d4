import { setImmediate } from 'node:timers/promises';
import type { SimRandom } from '../support/sim-random.js';

/**
 * The disk and data file operations that a process waits for; the simulation decides when each
 * completes.
 */
export class Schedule {
  readonly #random: SimRandom;
  readonly #waiting: (() => void)[] = [];
  readonly #outside = new Set<Promise<unknown>>();
  #isOver = false;

  constructor(random: SimRandom) {
    this.#random = random;
  }

  /** True when the process has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when the simulation picks it; never after the end. */
  step(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#isOver) this.#waiting.push(resolve);
    });
  }

  /** Work of the real system; every step waits until it ends. */
  async outside<Result>(work: Promise<Result>): Promise<Result> {
    this.#outside.add(work);
    try {
      return await work;
    } finally {
      this.#outside.delete(work);
    }
  }

  /** Completes one waiting operation, and waits until everything that follows from it has run. */
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

  /** Nothing that waits continues. */
  end(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
  }
}
