import type { Clock } from '../../../base/clock.js';
import type { Timer, Timers } from '../../../base/async/timers.js';
import { ModelError } from '../../rows/model-error.js';

/** The error of a query that has exceeded its time limit. */
export class DeadlinePassedError extends ModelError {
  override readonly name = 'DeadlinePassedError';
}

/** The moment at which a query gives up. One wait at a time. */
export class QueryDeadline {
  readonly #ms: number | undefined;
  readonly #clock: Clock;
  readonly #beganMs: number;
  readonly #timer: Timer | undefined;
  #isPast = false;
  #onPast: () => void = () => undefined;

  constructor(
    ms: number | undefined,
    { clock, timers }: { readonly clock: Clock; readonly timers: Timers },
  ) {
    this.#ms = ms;
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
    const past = (): void => {
      this.#isPast = true;
      this.#onPast();
    };
    this.#timer = ms === undefined ? undefined : timers.start(ms, past, undefined);
  }

  /** Whether the time is over, including time that the reader of the rows has used. */
  get isPast(): boolean {
    const passedMs = this.#clock.monotonicMs() - this.#beganMs;
    return this.#isPast || (this.#ms !== undefined && passedMs >= this.#ms);
  }

  get error(): DeadlinePassedError {
    return new DeadlinePassedError(`it took longer than ${this.#ms} ms`);
  }

  /** Resolves as the work does, or throws `DeadlinePassedError`. */
  wait<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#onPast = () => reject(this.error);
      work.then(resolve, reject);
      if (this.isPast) reject(this.error);
    });
  }

  close(): void {
    this.#timer?.close();
  }
}
