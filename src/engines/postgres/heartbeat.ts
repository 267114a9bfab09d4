import type { Timer, Timers } from '../../base/async/timers.js';
import type { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';
import { isAway } from './failures.js';
import type { Statement } from './statements.js';

/** The time between two beats. A beat that another server has just made is not repeated. */
export const beatMs = 1_000;
/** The longest wait of a beat for a primary. The next beat tries again. */
const connectLimitMs = 1_000;

export interface HeartbeatOptions {
  readonly source: ConnectionSource;
  readonly statement: Statement;
  readonly timers: Timers;
  /** The database refuses a beat, the first one since it has taken one. */
  readonly onRefused: (error: unknown) => void;
}

/**
 * Writes the time into the database every second. A standby that shows a time has every commit that
 * was acknowledged before it.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: Timer | undefined;
  #connection: Connection | undefined;
  #beating: Promise<void> | undefined;
  #isRefused = false;
  #isOver = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#wait();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#timer?.close();
    // A beat under way may be cut off: it changes nothing but a time.
    this.#connection?.destroy();
    await this.#beating;
    this.#connection?.destroy();
  }

  #wait(): void {
    const beat = (): void => {
      this.#beating = this.#beat();
    };
    if (!this.#isOver) this.#timer = this.#options.timers.start(beatMs, beat, undefined);
  }

  async #beat(): Promise<void> {
    const { source, statement, onRefused } = this.#options;
    try {
      if (this.#connection?.isLost !== false) {
        this.#connection = await source.connect(connectLimitMs);
      }
      await this.#connection.query(statement, []);
      this.#isRefused = false;
    } catch (error) {
      // Standbys seem to be behind meanwhile. The store itself reports a database that is away.
      this.#connection?.destroy();
      if (!isAway(error) && !this.#isRefused) {
        this.#isRefused = true;
        onRefused(error);
      }
    }
    this.#wait();
  }
}
