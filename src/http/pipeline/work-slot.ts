import type { Clock } from '../../base/clock.js';
import type { Exchange } from '../exchange/exchange.js';
import { AbortedError } from './body.js';
import type { Gate } from '../../base/async/gate.js';
import { ConcurrencySlot } from './concurrency-slot.js';

export interface WorkSlotOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** How long a request may wait for its slot. */
  readonly waitMsMax: number;
}

/**
 * The work slot of one request whose work takes much more memory than its bytes. A request that
 * waits too long is answered with a timeout, and its work never begins.
 */
export class WorkSlot {
  readonly #exchange: Exchange;
  readonly #slot: ConcurrencySlot;
  readonly #options: WorkSlotOptions;

  constructor(exchange: Exchange, limit: Gate, options: WorkSlotOptions) {
    this.#exchange = exchange;
    this.#slot = new ConcurrencySlot(limit);
    this.#options = options;
  }

  /** Resolves when the slot is taken; undefined: at once. */
  enter(): Promise<void> | undefined {
    const turn = this.#slot.enter();
    return turn === undefined ? undefined : this.#waitFor(turn);
  }

  leave(): void {
    this.#slot.leave();
  }

  /** Waits for something else with the slot released. */
  async standAside(wait: () => Promise<void>): Promise<void> {
    this.leave();
    await wait();
    await this.enter();
  }

  async #waitFor(turn: Promise<void>): Promise<void> {
    const exchange = this.#exchange;
    const { clock, waitMsMax } = this.#options;
    exchange.deadlineMs = clock.monotonicMs() + waitMsMax;
    await turn;
    exchange.deadlineMs = Infinity;
    if (exchange.replied) throw new AbortedError('its time was over before its turn');
  }
}
