import type { Timer, Timers } from '../base/async/timers.js';
import type { Logger } from '../http/exchange/logger.js';

/** Deletes unreachable data. */
export interface ReclaimStep {
  /** What it deletes, for the log. */
  readonly name: string;
  /** Deletes at most `entriesMax` entries; `more`: there is more to delete at once. */
  run(options: {
    readonly entriesMax: number;
  }): Promise<{ readonly deleted: number; readonly more: boolean }>;
  /** Entries deleted in one step: a few milliseconds of work. */
  readonly entriesMax: number;
  /** The delay after a step that has left nothing to delete. */
  readonly idleMs: number;
  /** How long a due step waits for requests to finish; then it runs beside them. */
  readonly patienceMs: number;
}

export interface ReclaimerOptions {
  readonly steps: readonly ReclaimStep[];
  readonly timers: Timers;
  readonly logger: Logger;
  /** The number of requests that compete with a step. */
  readonly inFlight: () => number;
}

const nextStepMs = 20;
/** The delay between steps that only search. They are not urgent, however many places are left. */
const searchStepMs = 50;
const busyRetryMs = 50;

/** Runs housekeeping in small steps, preferably while no request is in flight. */
export class Reclaimer {
  readonly #tasks: readonly ReclaimTask[];

  constructor(options: ReclaimerOptions) {
    this.#tasks = options.steps.map((step) => new ReclaimTask(step, options));
  }

  /** Resolves when no step is running any more. */
  async stop(): Promise<void> {
    await Promise.all(this.#tasks.map((task) => task.stop()));
  }
}

/** Until `stop`, either a timer is set for the next step or a step is running. */
class ReclaimTask {
  readonly #step: ReclaimStep;
  readonly #options: ReclaimerOptions;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  #waitedMs = 0;

  constructor(step: ReclaimStep, options: ReclaimerOptions) {
    this.#step = step;
    this.#options = options;
    this.#schedule(nextStepMs);
  }

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
    if (this.#options.inFlight() > 0 && this.#waitedMs < this.#step.patienceMs) {
      this.#waitedMs += busyRetryMs;
      this.#schedule(busyRetryMs);
      return;
    }
    this.#waitedMs = 0;
    this.#running = this.#run().finally(() => (this.#running = undefined));
  };

  /** A failed step is retried when the next one is due. */
  async #run(): Promise<void> {
    const { name, entriesMax, idleMs } = this.#step;
    let delayMs = idleMs;
    try {
      const { deleted, more } = await this.#step.run({ entriesMax });
      if (more) delayMs = deleted > 0 ? nextStepMs : searchStepMs;
    } catch (error) {
      this.#options.logger.error('freeing space failed', { step: name, error });
    }
    this.#schedule(delayMs);
  }
}
