import { within } from '../../base/async/deadline.js';
import type { Timers } from '../../base/async/timers.js';
import { StoreFailedError } from '../../kv/errors.js';

/** A write to the journal that takes longer than this is stuck. */
const stuckMs = 60_000;
/** A write that takes longer than this while the store closes is stuck. */
export const closeMs = 10_000;

/**
 * Ends the wait for a disk that does not answer. Whether the write becomes durable later is not
 * known, and the journal takes no other meanwhile, so the store has failed.
 */
export class StuckWrites {
  readonly #journal: string;
  readonly #timers: Timers;
  #isStuck = false;

  /** `journal`: where it is, for the message. */
  constructor(journal: string, timers: Timers) {
    this.#journal = journal;
    this.#timers = timers;
  }

  /** True when a write did not end in time. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  /** Settles as the work does, or rejects with `StoreFailedError` after `limitMs`. */
  limit(work: Promise<void>, limitMs = stuckMs): Promise<void> {
    const late = (): StoreFailedError => {
      this.#isStuck = true;
      return new StoreFailedError(
        `The storage engine cannot go on: a write to the journal ${this.#journal} did not end ` +
          `within ${limitMs / 1000} s. What was acknowledged is kept. End the process and start ` +
          'it again.',
      );
    };
    return within(work, { limitMs, timers: this.#timers, late });
  }
}
