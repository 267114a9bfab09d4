import { doubledDelay } from '../../base/async/back-off.js';
import type { Clock } from '../../base/clock.js';
import { remember } from './remember.js';

/** In milliseconds. */
const rests = { first: 5_000, last: 60_000 };

interface Rest {
  readonly tries: number;
  /** In monotonic milliseconds. */
  readonly untilMs: number;
}

/**
 * Operations that this process cannot carry on, and when it looks at each of them again. One that
 * is forgotten because there are too many is tried earlier.
 */
export class Rests {
  readonly #clock: Clock;
  readonly #rests = new Map<number, Rest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Lets an operation rest, longer each time. */
  begin(operation: number): void {
    const tries = (this.#rests.get(operation)?.tries ?? 0) + 1;
    const restMs = doubledDelay(rests, tries);
    remember(this.#rests, operation, { tries, untilMs: this.#clock.monotonicMs() + restMs });
  }

  /** Whether an operation has not rested to its end. */
  has(operation: number): boolean {
    const rest = this.#rests.get(operation);
    return rest !== undefined && this.#clock.monotonicMs() < rest.untilMs;
  }

  /** Forgets an operation. False when it has not rested. */
  end(operation: number): boolean {
    return this.#rests.delete(operation);
  }

  endAll(): void {
    this.#rests.clear();
  }
}
