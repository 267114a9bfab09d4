import type { Clock } from '../base/clock.js';
import { endsWithin } from '../base/async/deadline.js';
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
}

export interface ReclaimerOptions {
  readonly steps: readonly ReclaimStep[];
  readonly timers: Timers;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly logger: Logger;
  /** True while requests compete with the steps. */
  readonly isBusy: () => boolean;
}

/**
 * The least time between the beginnings of two steps while requests compete with them. A step
 * takes a few milliseconds of the main thread, so together they take about a tenth of it.
 */
const busyEveryMs = 30;
/** The least rest after a step. */
const restMsMin = 5;
/** The delay of a step that only searches. It is not urgent, however many places are left. */
const searchMs = 50;
/** The delay of a step that has left nothing, unless `wake` is called. */
const idleMs = 5_000;
/** The delay of a step that has failed. */
const retryMs = 60_000;

interface Task {
  readonly step: ReclaimStep;
  dueMs: number;
}

/**
 * Runs housekeeping in small steps, one at a time. While no request competes, it rests as long as
 * it works; otherwise it takes a small share of the time. A slow disk makes steps long but does not
 * make them do more, so then they follow each other closely.
 */
export class Reclaimer {
  readonly #options: ReclaimerOptions;
  readonly #tasks: readonly Task[];
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  /** The step that is running, or ran last. */
  #step: ReclaimStep | undefined;
  /** When the next step may begin. */
  #restedMs: number;
  #stopped = false;
  #woken = false;

  constructor(options: ReclaimerOptions) {
    const nowMs = options.clock.monotonicMs();
    this.#options = options;
    this.#restedMs = nowMs + busyEveryMs;
    this.#tasks = options.steps.map((step) => ({ step, dueMs: nowMs }));
    this.#schedule();
  }

  /** There may be something to delete: no step waits until it looks again by itself. */
  wake(): void {
    this.#woken = true;
    if (this.#running === undefined) this.#schedule();
  }

  /**
   * Resolves when no step is running any more, or one has taken `limitMs`: a disk or a store that
   * does not answer may hold it up. A step may be cut off anywhere, so the stop goes on then, and
   * what the step does later fails when the store is closed.
   */
  async stop(limitMs: number): Promise<void> {
    this.#stopped = true;
    this.#timer?.close();
    const { timers, logger } = this.#options;
    const isOver = await endsWithin(Promise.resolve(this.#running), { limitMs, timers });
    if (isOver) return;
    logger.warn(
      'freeing space has not ended: the stop goes on, and the next start frees the rest',
      {
        step: this.#step?.name,
      },
    );
  }

  /** Sets the one timer: for the step that has been due for the longest time. */
  #schedule(): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#woken) for (const task of this.#tasks) task.dueMs = Math.min(task.dueMs, nowMs);
    this.#woken = false;
    const [first, ...rest] = this.#tasks;
    if (this.#stopped || first === undefined) return;
    const next = rest.reduce(
      (soonest, task) => (task.dueMs < soonest.dueMs ? task : soonest),
      first,
    );
    const delayMs = Math.max(0, Math.ceil(Math.max(next.dueMs, this.#restedMs) - nowMs));
    this.#timer?.close();
    this.#timer = this.#options.timers.start(delayMs, this.#begin, next);
  }

  readonly #begin = (task: Task): void => {
    // `wake` must see that a step is running from its beginning.
    this.#step = task.step;
    this.#running = Promise.resolve(task)
      .then(this.#run)
      .finally(() => {
        this.#running = undefined;
        this.#schedule();
      });
  };

  readonly #run = async (task: Task): Promise<void> => {
    const { clock, isBusy } = this.#options;
    const begunMs = clock.monotonicMs();
    const delayMs = await this.#delayAfter(task.step);
    const endedMs = clock.monotonicMs();
    const tookMs = endedMs - begunMs;
    const restMs = isBusy() ? busyEveryMs - tookMs : tookMs;
    this.#restedMs = endedMs + Math.max(restMs, restMsMin);
    task.dueMs = endedMs + delayMs;
  };

  async #delayAfter(step: ReclaimStep): Promise<number> {
    try {
      const { deleted, more } = await step.run({ entriesMax: step.entriesMax });
      if (!more) return idleMs;
      return deleted > 0 ? 0 : searchMs;
    } catch (error) {
      this.#options.logger.error('freeing space failed', { step: step.name, error });
      return retryMs;
    }
  }
}
