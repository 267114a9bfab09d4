import { endsWithin, within } from '../../base/async/deadline.js';
import { SharedTime } from '../../base/async/shared-time.js';
import type { Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import { StoreFailedError } from '../../kv/errors.js';

/** A write to the journal that takes longer than this is stuck. */
const stuckMs = 60_000;
/** How long a close waits for commits and then for the files of the journal, together. */
const closeMs = 10_000;

/**
 * Ends the wait for a disk that does not answer. Whether the write becomes durable later is not
 * known, and the journal takes no other meanwhile, so the store has failed.
 */
export class StuckWrites {
  readonly #journal: string;
  readonly #timers: Timers;
  readonly #closeTime: SharedTime;
  #isWriting = false;

  /** `journal`: where it is, for the message. */
  constructor(journal: string, { timers, clock }: { timers: Timers; clock: Clock }) {
    this.#journal = journal;
    this.#timers = timers;
    this.#closeTime = new SharedTime(closeMs, clock);
  }

  /** True while a write is under way, also one that did not end in time. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /**
   * Settles as a write to the journal does, or rejects with `StoreFailedError` after a minute. One
   * at a time.
   */
  limitWrite(write: Promise<void>): Promise<void> {
    this.#isWriting = true;
    const ended = (): boolean => (this.#isWriting = false);
    void write.then(ended, ended);
    return this.#limit(write, stuckMs);
  }

  /** The same for all commits under way, at a close: they may wait for the base as well. */
  limitCommits(drained: Promise<void>): Promise<void> {
    return this.#closeTime.spend((limitMs) => this.#limit(drained, limitMs));
  }

  /**
   * Waits for the end of the journal, which does not reject. Resolves with an error when that takes
   * too long.
   */
  async limitEnd(ended: Promise<void>): Promise<Error | undefined> {
    const timers = this.#timers;
    const hasEnded = this.#closeTime.spend((limitMs) => endsWithin(ended, { limitMs, timers }));
    if (await hasEnded) return undefined;
    return new Error(
      `The files of the journal ${this.#journal} were not all closed within the ${closeMs / 1000} s ` +
        'that a stop has for them and for commits. Nothing that was acknowledged is lost.',
    );
  }

  #limit(work: Promise<void>, limitMs: number): Promise<void> {
    const late = (): StoreFailedError => {
      const what = this.#isWriting
        ? `a write to the journal ${this.#journal} did not end`
        : 'the data file did not take enough of the journal for the commits that wait';
      return new StoreFailedError(
        `The storage engine cannot go on: ${what} within ${limitMs / 1000} s. What was ` +
          'acknowledged is kept. End the process and start it again.',
      );
    };
    return within(work, { limitMs, timers: this.#timers, late });
  }
}
