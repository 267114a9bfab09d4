import { StorageError } from '../../model/errors/storage-error.js';
import type { Clock } from '../../base/clock.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Logger } from '../exchange/logger.js';
import { CompactRequest } from './compact-request.js';
import { heavyTaskGate } from './concurrency-slot.js';
import { SampledWarning } from './sampled-log.js';

/** Requests that hold no more than this are never cut off, because that would free too little. */
const smallBytesMax = 16 * 1024;

/** The share that is reserved for small requests: a sixteenth. */
const smallShare = 16;

/** How long a client may send or read nothing while memory is short. */
const patienceMs = 1000;

/** When a refused client may retry. */
const retryAfterSeconds = 1;

/** A request and the memory it holds. */
type Holder = Pick<Exchange, 'heldBytes'>;

/**
 * Limits the memory of request bodies and answers of a process, over all services. A body counts
 * until its request is answered; the data of an answer count until its client has read it.
 *
 * When memory is short, the clients that have stalled longest are cut off: those that have stopped
 * sending a body, and those that do not read their answer. When there are none, the request that
 * needs memory is refused. A part is reserved for small requests, so that many large ones do not
 * crowd them out.
 */
export class HeldMemory {
  /** The work slots for producing long answers. */
  readonly longAnswers = heavyTaskGate();
  readonly #clock: Clock;
  readonly #refused: SampledWarning;
  readonly #cutOff: SampledWarning;
  /** Large holders, the most recently active last. */
  readonly #large = new Map<Exchange, number>();
  #bytes = 0;
  /** The part of them that small holders have. */
  #smallBytes = 0;

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

  /** Counts more bytes of an exchange, even beyond the limit. */
  take(exchange: Exchange, bytes: number): void {
    // Drops a late result of work whose client has left.
    if (exchange.concluded) return;
    this.#setHeld(exchange, exchange.heldBytes + bytes);
  }

  /** Releases some of the memory of an exchange. */
  giveBack(exchange: Exchange, bytes: number): void {
    // An exchange that was cut off to free memory holds nothing any more.
    this.#setHeld(exchange, Math.max(0, exchange.heldBytes - bytes));
  }

  /** Releases all memory of an exchange; called once, at its end. */
  release(exchange: Exchange): void {
    this.#setHeld(exchange, 0);
  }

  /** Throws `ServerBusy` when an exchange cannot have `bytes` more of `bytesMax`. */
  ensureFree(exchange: Holder, bytes: number, bytesMax: number): void {
    if (this.#hasFree(exchange, bytes, bytesMax)) return;
    if (this.#freeStalled(exchange, bytes, bytesMax)) return;
    this.#refused.give();
    throw new StorageError('ServerBusy', { retryAfterSeconds });
  }

  #hasFree({ heldBytes }: Holder, bytes: number, bytesMax: number): boolean {
    const share = bytesMax / smallShare;
    const sum = this.#bytes + bytes;
    if (heldBytes + bytes <= smallBytesMax) {
      return sum <= bytesMax || this.#smallBytes + bytes <= share;
    }
    if (sum <= bytesMax - share) return true;
    // A single large holder may always have what it needs.
    return this.#bytes - this.#smallBytes <= (heldBytes > smallBytesMax ? heldBytes : 0);
  }

  #freeStalled(asking: Holder, bytes: number, bytesMax: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    for (const [exchange, sinceMs] of this.#large) {
      if (sinceMs > nowMs - patienceMs) break;
      if (exchange === asking || isAtWork(exchange)) continue;
      if (waitsForServer(exchange)) {
        this.#movedAt(exchange, nowMs);
        continue;
      }
      this.release(exchange);
      exchange.request.socket.destroy();
      this.#cutOff.give();
      if (this.#hasFree(asking, bytes, bytesMax)) return true;
    }
    return false;
  }

  #setHeld(exchange: Exchange, heldBytes: number): void {
    this.#bytes += heldBytes - exchange.heldBytes;
    this.#smallBytes += smallPart(heldBytes) - smallPart(exchange.heldBytes);
    exchange.heldBytes = heldBytes;
    if (heldBytes > smallBytesMax) this.#movedAt(exchange, this.#clock.monotonicMs());
    else if (this.#large.size > 0) this.#large.delete(exchange);
  }

  #movedAt(exchange: Exchange, nowMs: number): void {
    this.#large.delete(exchange);
    this.#large.set(exchange, nowMs);
  }
}

/** The bytes that count as those of a small holder. */
function smallPart(heldBytes: number): number {
  return heldBytes <= smallBytesMax ? heldBytes : 0;
}

/** True when work is in progress, so that the client is not stalling. */
function isAtWork({ replied, request, bodyStream, answerStream }: Exchange): boolean {
  if (answerStream?.waitsForSource === true) return true;
  if (replied) return false;
  return request.complete || bodyStream?.waitsForClient === false;
}

/** True when the client could continue its body but the server has paused reading. */
function waitsForServer({ request }: Exchange): boolean {
  return request instanceof CompactRequest && request.waitsForTurn;
}
