import { InFlight } from '../base/async/in-flight.js';
import { ContentClosedError } from './errors.js';

/** The calls of a content store that have not ended yet, and whether it still takes any. */
export class CallsInFlight {
  readonly #calls = new InFlight();
  #isClosed = false;

  /** Rejects with `ContentClosedError` after `close`. */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new ContentClosedError();
    return this.#calls.during(call);
  }

  /** Refuses further calls and waits for those in flight, failures included. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#calls.none();
  }
}
