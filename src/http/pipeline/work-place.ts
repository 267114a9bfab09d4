import type { Clock } from '../../base/clock.js';
import type { Exchange } from '../exchange/exchange.js';
import { AbortedError } from './body.js';
import { Place, type LargeWork } from './large-work.js';

export interface WorkPlaceOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** How long a request may wait for its turn. */
  readonly waitMsMax: number;
}

/**
 * Where one request waits for its turn, when its work takes many times the bytes it came in. Who
 * waits too long is answered that its time is over, and its work never begins.
 */
export class WorkPlace {
  readonly #exchange: Exchange;
  readonly #place: Place;
  readonly #options: WorkPlaceOptions;

  constructor(exchange: Exchange, work: LargeWork, options: WorkPlaceOptions) {
    this.#exchange = exchange;
    this.#place = new Place(work);
    this.#options = options;
  }

  /** Resolves when it is its turn; undefined: at once. */
  enter(): Promise<void> | undefined {
    const turn = this.#place.enter();
    return turn === undefined ? undefined : this.#waitFor(turn);
  }

  leave(): void {
    this.#place.leave();
  }

  /** Waits for something else, while others have the place. */
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
