import type { Clock } from '../clock.js';

/** Time that several steps share, one after the other. */
export class SharedTime {
  readonly #clock: Clock;
  #leftMs: number;

  constructor(limitMs: number, clock: Clock) {
    this.#leftMs = limitMs;
    this.#clock = clock;
  }

  /** Runs a step, which may take what is left of the time. */
  async spend<T>(step: (limitMs: number) => Promise<T>): Promise<T> {
    const startMs = this.#clock.monotonicMs();
    try {
      return await step(this.#leftMs);
    } finally {
      this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.monotonicMs() - startMs));
    }
  }
}
