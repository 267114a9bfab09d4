import type { Timer, Timers } from '../../base/async/timers.js';
import type { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';
import { isAway } from './failures.js';

/** The longest wait of a run for a primary. */
const connectLimitMs = 1_000;
/**
 * The longest pause after a run that found no database: until one connects, the store is taken to
 * be in trouble.
 */
const retryMs = 10_000;

export interface PeriodicWorkOptions {
  readonly source: ConnectionSource;
  readonly timers: Timers;
  /** The pause before each run, also before the first. */
  readonly pauseMs: number;
  /**
   * The work of a run. It may be interrupted anywhere, and the next run or another server may
   * repeat it.
   */
  readonly work: (connection: Connection) => Promise<unknown>;
  /** Whether the connection is kept for the next run. */
  readonly keepsConnection: boolean;
  /** Called when the database refuses the work, and not again until it has accepted it. */
  readonly onRefused: (error: unknown) => void;
}

/**
 * Repeated work of a store in the database, on a connection of its own. A failed run has no effect
 * besides `onRefused`: the next run tries again, and the store itself reports that the database is
 * away.
 */
export class PeriodicWork {
  readonly #options: PeriodicWorkOptions;
  #timer: Timer | undefined;
  #connection: Connection | undefined;
  #running: Promise<void> | undefined;
  #isRefused = false;
  #isOver = false;

  constructor(options: PeriodicWorkOptions) {
    this.#options = options;
    this.#wait();
  }

  /** Interrupts a run that is under way. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#timer?.close();
    this.#connection?.destroy();
    await this.#running;
    this.#connection?.destroy();
  }

  #wait(ms = this.#options.pauseMs): void {
    const run = (): void => {
      this.#running = this.#run();
    };
    if (!this.#isOver) this.#timer = this.#options.timers.start(ms, run, undefined);
  }

  async #run(): Promise<void> {
    const { source, work, keepsConnection, onRefused, pauseMs } = this.#options;
    let nextMs = pauseMs;
    try {
      if (this.#connection?.isLost !== false) {
        this.#connection = await source.connect(connectLimitMs);
        if (this.#isOver) return;
      }
      await work(this.#connection);
      this.#isRefused = false;
      if (!keepsConnection) await this.#connection.close();
    } catch (error) {
      this.#connection?.destroy();
      if (isAway(error)) nextMs = Math.min(pauseMs, retryMs);
      else if (!this.#isRefused) {
        this.#isRefused = true;
        onRefused(error);
      }
    }
    this.#wait(nextMs);
  }
}
