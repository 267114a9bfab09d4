import { InFlight } from '../../base/async/in-flight.js';

/** Waits for the reads that are under way at a moment. */
export class ReadEpochs {
  #current = new InFlight();

  /** Counts a read until its result settles. */
  during<Result>(read: () => Promise<Result>): Promise<Result> {
    return this.#current.during(read);
  }

  /** Resolves when all reads that have begun by now have ended. One call at a time. */
  over(): Promise<void> {
    const epoch = this.#current;
    this.#current = new InFlight();
    return epoch.none();
  }
}
