import { setImmediate as turn } from 'node:timers/promises';
import type { SimRandom } from '../../support/sim-random.js';

/** Lets the requests of several tasks go on one at a time, in a random order. */
export class Turns {
  readonly #random: SimRandom;
  readonly #waiting: (() => void)[] = [];

  constructor(random: SimRandom) {
    this.#random = random;
  }

  readonly wait = (): Promise<void> => new Promise((resolve) => void this.#waiting.push(resolve));

  /** Runs until every task has ended. */
  async run(tasks: readonly Promise<void>[]): Promise<void> {
    const state = { isDone: false };
    const all = Promise.all(tasks).finally(() => (state.isDone = true));
    // Rejections are thrown below.
    all.catch(() => undefined);
    while (!state.isDone) {
      // Mostly the task that went last goes on, so that some stand still for long.
      const last = this.#waiting.length - 1;
      const at = this.#random.chance(0.8) ? last : this.#random.int(this.#waiting.length);
      this.#waiting.splice(Math.max(0, at), 1)[0]?.();
      await turn();
    }
    await all;
  }
}
