import type { Clock } from '../base/clock.js';
import { sleep } from '../base/async/sleep.js';
import type { Timers } from '../base/async/timers.js';
import { nextTurn } from '../base/async/turns.js';

/** Keeps work that looks at keys from being faster than a rate. */
export class Pace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #timers: Timers;
  readonly #msEach: number;
  /** When the keys so far may have been looked at. */
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

  /** Waits until the keys are due, and lets other work go on in any case. */
  async keep(keys: number): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    // Time that was not used is not made up for.
    this.#dueMs = Math.max(this.#dueMs, nowMs) + keys * this.#msEach;
    const waitMs = this.#dueMs - nowMs;
    if (waitMs >= 1) await sleep(this.#timers, waitMs);
    else await nextTurn();
  }
}
