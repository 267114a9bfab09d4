import { endsWithin } from '../base/async/deadline.js';
import { InFlight } from '../base/async/in-flight.js';
import type { Timers } from '../base/async/timers.js';
import { contentCloseMs } from './content-store.js';
import { ContentClosedError } from './errors.js';

/** The calls of a content store that have not ended yet, and whether it still takes any. */
export class CallsInFlight {
  readonly #running = new InFlight();
  #isClosed = false;

  /** Rejects with `ContentClosedError` after `refuse`. */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    this.assertOpen();
    return this.#running.during(call);
  }

  assertOpen(): void {
    if (this.#isClosed) throw new ContentClosedError();
  }

  /** Refuses further calls. */
  refuse(): void {
    this.#isClosed = true;
  }

  /** Resolves when no call is in flight. */
  none(): Promise<void> {
    return this.#running.none();
  }
}

/**
 * Waits for work of a close, at most `contentCloseMs`. False on timeout. Rejects as the work does.
 */
export function endsInTime(timers: Timers, work: Promise<unknown>): Promise<boolean> {
  return endsWithin(work, { limitMs: contentCloseMs, timers });
}
