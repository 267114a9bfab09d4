import { StorageError } from '../../model/errors/storage-error.js';
import type { Clock } from '../../base/clock.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Logger } from '../exchange/logger.js';
import { SampledWarning } from './sampled-log.js';

/** Whoever holds no more than this is never cut off: it would free too little. */
const smallBytesMax = 16 * 1024;

/** So long may a client send or take nothing while memory is short. */
const patienceMs = 1000;

/** After which a client that was refused may find room. */
const retryAfterSeconds = 1;

/**
 * What request bodies and answers take of the memory of a process, all services together. A body
 * counts until its request has its answer, an answer until its client has taken it.
 *
 * When there is no room, the clients that have kept others waiting longest are cut off: those that
 * send nothing of a body they have begun, and those that do not take their answer. When there are
 * none, what asks for room is refused.
 */
export class HeldMemory {
  readonly #clock: Clock;
  readonly #refused: SampledWarning;
  readonly #cutOff: SampledWarning;
  /** Those that hold much, the one that has last moved at the end. */
  readonly #large = new Map<Exchange, number>();
  #bytes = 0;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#refused = new SampledWarning(logger, 'memory for bodies and answers is used up');
    this.#cutOff = new SampledWarning(
      logger,
      'a client was cut off that held memory and did not move',
    );
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Counts more bytes of an exchange, whether there is room or not. */
  take(exchange: Exchange, bytes: number): void {
    // A late result of work whose client has left is dropped.
    if (exchange.concluded) return;
    this.#bytes += bytes;
    exchange.heldBytes += bytes;
    if (exchange.heldBytes <= smallBytesMax) return;
    this.#large.delete(exchange);
    this.#large.set(exchange, this.#clock.monotonicMs());
  }

  /** Some of what an exchange holds has gone its way. */
  giveBack(exchange: Exchange, bytes: number): void {
    // What was cut off to make room holds nothing any more.
    const given = Math.min(bytes, exchange.heldBytes);
    this.#bytes -= given;
    exchange.heldBytes -= given;
    this.#large.delete(exchange);
    if (exchange.heldBytes > smallBytesMax) {
      this.#large.set(exchange, this.#clock.monotonicMs());
    }
  }

  /** Once an exchange: it has ended. */
  release(exchange: Exchange): void {
    this.#bytes -= exchange.heldBytes;
    exchange.heldBytes = 0;
    this.#large.delete(exchange);
  }

  /** Throws `ServerBusy` when so many more bytes would not fit into `bytesMax`. */
  ensureRoom(bytes: number, bytesMax: number): void {
    if (this.#bytes + bytes <= bytesMax || this.#makeRoom(bytes, bytesMax)) return;
    this.#refused.give();
    throw new StorageError('ServerBusy', { retryAfterSeconds });
  }

  #makeRoom(bytes: number, bytesMax: number): boolean {
    const beforeMs = this.#clock.monotonicMs() - patienceMs;
    for (const [exchange, sinceMs] of this.#large) {
      if (sinceMs > beforeMs) break;
      if (isAtWork(exchange)) continue;
      this.release(exchange);
      exchange.request.socket.destroy();
      this.#cutOff.give();
      if (this.#bytes + bytes <= bytesMax) return true;
    }
    // Whoever is alone may have what it needs.
    return this.#bytes === 0;
  }
}

/** One whose work is under way keeps nobody waiting. */
function isAtWork({ replied, request, bodyStream, answerStream }: Exchange): boolean {
  if (answerStream?.waitsForSource === true) return true;
  if (replied) return false;
  return request.complete || bodyStream?.waitsForClient === false;
}
