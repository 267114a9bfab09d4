import { ContentClosedError } from './errors.js';

/** The calls of a store that have not ended yet, and whether it still takes any. */
export class CallsUnderWay {
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  /** Rejects with `ContentClosedError` after `close`. */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    this.assertOpen();
    const running = call();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  assertOpen(): void {
    if (this.#isClosed) throw new ContentClosedError();
  }

  /** Refuses further calls and waits for those under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }
}
