import { nextTurn } from '../../base/turns.js';
import type { Clock } from '../../base/clock.js';

/** How long reading may keep other requests of this process waiting, in milliseconds. */
const sliceMs = 5;

/** What of the process' time one piece of work may take before others get their turn. */
export class Slice {
  readonly #clock: Clock;
  #started: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#started = clock.monotonicMs();
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() - this.#started >= sliceMs;
  }

  /** Lets others have their turn, if the slice is over; then the next one begins. */
  async endOnTime(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#started = this.#clock.monotonicMs();
  }
}
