import { doubledDelay } from '../../base/async/back-off.js';
import type { Clock } from '../../base/clock.js';
import { remember } from './remember.js';

/** In milliseconds. */
const delays = { first: 5_000, last: 60_000 };

interface Delay {
  readonly tries: number;
  /** In monotonic milliseconds. */
  readonly untilMs: number;
}

/**
 * Exponential back-off of operations that this process cannot carry on. When there are too many,
 * the oldest entry is forgotten, and its operation is tried earlier.
 */
export class OperationBackOff {
  readonly #clock: Clock;
  readonly #delays = new Map<number, Delay>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Delays the next try of an operation, each time for longer. */
  postpone(operation: number): void {
    const tries = (this.#delays.get(operation)?.tries ?? 0) + 1;
    const delayMs = doubledDelay(delays, tries);
    remember(this.#delays, operation, { tries, untilMs: this.#clock.monotonicMs() + delayMs });
  }

  /** Whether the next try of an operation is not due yet. */
  isWaiting(operation: number): boolean {
    const delay = this.#delays.get(operation);
    return delay !== undefined && this.#clock.monotonicMs() < delay.untilMs;
  }

  /** Forgets an operation. False when it was never postponed. */
  forget(operation: number): boolean {
    return this.#delays.delete(operation);
  }

  clear(): void {
    this.#delays.clear();
  }
}
