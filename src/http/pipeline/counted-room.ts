import type { AnswerRoom, Exchange } from '../exchange/exchange.js';
import { AbortedError } from './body.js';
import type { HeldMemory } from './held-memory.js';
import { Place } from './large-work.js';

/** What is shorter is counted when its answer is there, and never waits. */
const longBytesMin = 64 * 1024;

/**
 * The memory and the place that one request has for its answer while it is put together. Long
 * answers of all services wait for each other, and hold no more than what was read for them.
 */
export class CountedRoom implements AnswerRoom {
  readonly #exchange: Exchange;
  readonly #memory: HeldMemory;
  readonly #bytesMax: number;
  #place: Place | undefined;

  constructor(exchange: Exchange, memory: HeldMemory, bytesMax: number) {
    this.#exchange = exchange;
    this.#memory = memory;
    this.#bytesMax = bytesMax;
  }

  hold(bytes: number): void {
    const exchange = this.#exchange;
    if (bytes < longBytesMin && exchange.reservedBytes === 0) return;
    const more = bytes - exchange.reservedBytes;
    if (more > 0) this.#memory.ensureRoom(exchange, more, this.#bytesMax);
    this.#memory.take(exchange, more);
    exchange.reservedBytes = bytes;
  }

  enter(bytes: number): Promise<void> | undefined {
    if (bytes < longBytesMin) return undefined;
    this.#place ??= new Place(this.#memory.longAnswers);
    const turn = this.#place.enter();
    return turn === undefined ? undefined : this.#waitFor(turn);
  }

  leave(): void {
    this.#place?.leave();
  }

  async #waitFor(turn: Promise<void>): Promise<void> {
    await turn;
    const { concluded, replied } = this.#exchange;
    if (concluded || replied) throw new AbortedError('nobody waits for the answer any more');
  }
}
