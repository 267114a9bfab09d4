import type { Timer, Timers } from '../../base/async/timers.js';
import type { Connection } from './connection.js';
import type { ConnectionSource } from './connection-source.js';
import type { Statement } from './statements.js';

/** The time between two beats. A beat that another server has just made is not repeated. */
export const beatMs = 1_000;
/** The longest wait of a beat for a primary. The next beat tries again. */
const connectLimitMs = 1_000;

/**
 * Writes the time into the database every second. A standby that shows a time has every commit that
 * was acknowledged before it.
 */
export class Heartbeat {
  readonly #source: ConnectionSource;
  readonly #statement: Statement;
  readonly #timers: Timers;
  #timer: Timer | undefined;
  #connection: Connection | undefined;
  #beating: Promise<void> | undefined;
  #isOver = false;

  constructor(source: ConnectionSource, statement: Statement, timers: Timers) {
    this.#source = source;
    this.#statement = statement;
    this.#timers = timers;
    this.#wait();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#timer?.close();
    await this.#beating;
    await this.#connection?.close();
  }

  #wait(): void {
    const beat = (): void => {
      this.#beating = this.#beat();
    };
    if (!this.#isOver) this.#timer = this.#timers.start(beatMs, beat, undefined);
  }

  async #beat(): Promise<void> {
    try {
      if (this.#connection?.isLost !== false) {
        this.#connection = await this.#source.connect(connectLimitMs);
      }
      await this.#connection.query(this.#statement, []);
    } catch {
      // The store reports a database that is away, so the failure needs no report here. Standbys
      // seem to be behind meanwhile.
      this.#connection?.destroy();
    }
    this.#wait();
  }
}
