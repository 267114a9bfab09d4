import type { Clock } from '../base/clock.js';
import { sleep } from '../base/async/sleep.js';
import type { Timers } from '../base/async/timers.js';
import { nextTurn } from '../base/async/turns.js';

/** Limits how many keys a second some work reads. */
export class KeyRateLimiter {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #timers: Timers;
  readonly #msEach: number;
  /** The time from which the keys read until now are within the rate. */
  #dueMs: number;

  constructor(
    keysPerSecond: number,
    { clock, timers }: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly timers: Timers },
  ) {
    this.#clock = clock;
    this.#timers = timers;
    this.#msEach = 1_000 / keysPerSecond;
    this.#dueMs = clock.monotonicMs();
  }

  /** Waits until `keys` more keys are within the rate. Always yields to other work. */
  async take(keys: number): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    // Unused time does not accumulate.
    this.#dueMs = Math.max(this.#dueMs, nowMs) + keys * this.#msEach;
    const waitMs = this.#dueMs - nowMs;
    if (waitMs >= 1) await sleep(this.#timers, waitMs);
    else await nextTurn();
  }
}
