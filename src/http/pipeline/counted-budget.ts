import type { AnswerBudget, Exchange } from '../exchange/exchange.js';
import { AbortedError } from './body.js';
import type { HeldMemory } from './held-memory.js';
import { ConcurrencySlot } from './concurrency-slot.js';

/** Shorter answers are counted when they are complete, and never wait. */
const longBytesMin = 64 * 1024;

/**
 * The memory budget and work slot of one request while its answer is produced. Long answers of all
 * services share the slots; a waiting one holds only what was read for it.
 */
export class CountedBudget implements AnswerBudget {
  readonly #exchange: Exchange;
  readonly #memory: HeldMemory;
  readonly #bytesMax: number;
  #slot: ConcurrencySlot | undefined;

  constructor(exchange: Exchange, memory: HeldMemory, bytesMax: number) {
    this.#exchange = exchange;
    this.#memory = memory;
    this.#bytesMax = bytesMax;
  }

  hold(bytes: number): void {
    const exchange = this.#exchange;
    // The exchange has ended, so further memory would not be counted.
    if (exchange.concluded) throw nobodyWaits();
    if (bytes < longBytesMin && exchange.reservedBytes === 0) return;
    const more = bytes - exchange.reservedBytes;
    if (more > 0) this.#memory.ensureFree(exchange, more, this.#bytesMax);
    this.#memory.take(exchange, more);
    exchange.reservedBytes = bytes;
  }

  enter(bytes: number): Promise<void> | undefined {
    if (bytes < longBytesMin) return undefined;
    this.#slot ??= new ConcurrencySlot(this.#memory.longAnswers);
    const turn = this.#slot.enter();
    return turn === undefined ? undefined : this.#waitFor(turn);
  }

  leave(): void {
    this.#slot?.leave();
  }

  async #waitFor(turn: Promise<void>): Promise<void> {
    await turn;
    const { concluded, replied } = this.#exchange;
    if (concluded || replied) throw nobodyWaits();
  }
}

function nobodyWaits(): AbortedError {
  return new AbortedError('nobody waits for the answer any more');
}
