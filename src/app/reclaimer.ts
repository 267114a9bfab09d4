import type { Timer, Timers } from '../base/timers.js';
import type { Logger } from '../http/pipeline/logger.js';

/** Frees some space that nothing reaches any more. */
export interface ReclaimStep {
  /** What it frees, for the log. */
  readonly name: string;
  /** Deletes at most so many entries; `more` says whether there is more to delete at once. */
  run(options: {
    readonly entriesMax: number;
  }): Promise<{ readonly deleted: number; readonly more: boolean }>;
}

export interface ReclaimerOptions {
  /** Run one after the other, each of them in every round. */
  readonly steps: readonly ReclaimStep[];
  readonly timers: Timers;
  readonly logger: Logger;
  /** Requests that a round would compete with. */
  readonly inFlight: () => number;
}

/** Entries deleted in one step: a few milliseconds of work. */
const entriesMax = 500;
const nextRoundMs = 20;
/** How often to look for more. What was dropped is left alone for some minutes anyway. */
const idleMs = 60_000;
const busyRetryMs = 100;
/** After so many retries a round runs beside requests, so that a busy server frees space as well. */
const busyRetriesMax = 50;

/**
 * Frees space in rounds of small steps, preferably while no request is in flight.
 *
 * At any time either a timer waits for the next round or a round runs; after `stop` neither.
 */
export class Reclaimer {
  readonly #options: ReclaimerOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  #busyRetries = 0;

  constructor(options: ReclaimerOptions) {
    this.#options = options;
    this.#schedule(nextRoundMs);
  }

  /** Resolves when no step runs any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.close();
    await this.#running;
  }

  #schedule(delayMs: number): void {
    this.#timer?.close();
    if (this.#stopped) return;
    this.#timer = this.#options.timers.start(delayMs, this.#due, undefined);
  }

  readonly #due = (): void => {
    if (this.#options.inFlight() > 0 && this.#busyRetries < busyRetriesMax) {
      this.#busyRetries++;
      this.#schedule(busyRetryMs);
      return;
    }
    this.#busyRetries = 0;
    this.#running = this.#round().finally(() => (this.#running = undefined));
  };

  async #round(): Promise<void> {
    let more = false;
    for (const step of this.#options.steps) {
      if (this.#stopped) return;
      if (await this.#hasMoreAfter(step)) more = true;
    }
    this.#schedule(more ? nextRoundMs : idleMs);
  }

  /** A step that fails keeps no other from running; it is tried again when it is due. */
  async #hasMoreAfter(step: ReclaimStep): Promise<boolean> {
    try {
      return (await step.run({ entriesMax })).more;
    } catch (error) {
      this.#options.logger.error('freeing space failed', { step: step.name, error });
      return false;
    }
  }
}
