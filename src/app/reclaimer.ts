import type { Timer, Timers } from '../base/timers.js';
import type { Logger } from '../http/pipeline/logger.js';

/** Frees some space of dropped tables; `more` says whether there is more to free. */
export type ReclaimStep = (options: {
  readonly entriesMax: number;
}) => Promise<{ readonly deleted: number; readonly more: boolean }>;

export interface ReclaimerOptions {
  readonly step: ReclaimStep;
  readonly timers: Timers;
  readonly logger: Logger;
  /** Requests that a step would compete with. */
  readonly inFlight: () => number;
}

/** Entries deleted in one step: a few milliseconds of work. */
const entriesMax = 500;
const nextStepMs = 20;
/** How often to look for more. A dropped table is left alone for some minutes anyway. */
const idleMs = 60_000;
const busyRetryMs = 100;
/** After so many retries a step runs beside requests, so that a busy server frees space as well. */
const busyRetriesMax = 50;

/**
 * Frees the space of dropped tables in small steps, preferably while no request is in flight.
 *
 * At any time either a timer waits for the next step or a step runs; after `stop` neither.
 */
export class Reclaimer {
  readonly #options: ReclaimerOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  #busyRetries = 0;

  constructor(options: ReclaimerOptions) {
    this.#options = options;
    this.#schedule(nextStepMs);
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
    this.#running = this.#step().finally(() => (this.#running = undefined));
  };

  async #step(): Promise<void> {
    let delayMs = idleMs;
    try {
      const { more } = await this.#options.step({ entriesMax });
      if (more) delayMs = nextStepMs;
    } catch (error) {
      this.#options.logger.error('freeing the space of dropped tables failed', { error });
    }
    this.#schedule(delayMs);
  }
}
