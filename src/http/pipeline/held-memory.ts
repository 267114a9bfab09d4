import { StorageError } from '../../model/errors/storage-error.js';
import type { Clock } from '../../base/clock.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Logger } from '../exchange/logger.js';
import { CompactRequest } from './compact-request.js';
import { LargeWork } from './large-work.js';
import { SampledWarning } from './sampled-log.js';

/** Whoever holds no more than this is never cut off: it would free too little. */
const smallBytesMax = 16 * 1024;

/** One part in so many is for those who hold no more than that, however much the others want. */
const smallShare = 16;

/** So long may a client send or take nothing while memory is short. */
const patienceMs = 1000;

/** After which a client that was refused may find room. */
const retryAfterSeconds = 1;

/** Who asks for more, and what it has. */
type Holder = Pick<Exchange, 'heldBytes'>;

/**
 * What request bodies and answers take of the memory of a process, all services together. A body
 * counts until its request has its answer, what is read for an answer and the answer until its
 * client has taken it.
 *
 * When there is no room, the clients that have kept others waiting longest are cut off: those that
 * send nothing of a body they have begun, and those that do not take their answer. When there are
 * none, what asks for room is refused. A part is kept for requests that take little, so that many
 * large ones do not refuse them.
 */
export class HeldMemory {
  /** Places of those who put long answers together. */
  readonly longAnswers = new LargeWork();
  readonly #clock: Clock;
  readonly #refused: SampledWarning;
  readonly #cutOff: SampledWarning;
  /** Those that hold much, the one that has last moved at the end. */
  readonly #large = new Map<Exchange, number>();
  #bytes = 0;
  /** Of these, what is held by those who hold little. */
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

  /** Counts more bytes of an exchange, whether there is room or not. */
  take(exchange: Exchange, bytes: number): void {
    // A late result of work whose client has left is dropped.
    if (exchange.concluded) return;
    this.#setHeld(exchange, exchange.heldBytes + bytes);
  }

  /** Some of what an exchange holds has gone its way. */
  giveBack(exchange: Exchange, bytes: number): void {
    // What was cut off to make room holds nothing any more.
    this.#setHeld(exchange, Math.max(0, exchange.heldBytes - bytes));
  }

  /** Once an exchange: it has ended. */
  release(exchange: Exchange): void {
    this.#setHeld(exchange, 0);
  }

  /** Throws `ServerBusy` when an exchange can't have so many more bytes of `bytesMax`. */
  ensureRoom(exchange: Holder, bytes: number, bytesMax: number): void {
    if (this.#hasRoom(exchange, bytes, bytesMax)) return;
    if (this.#makeRoom(exchange, bytes, bytesMax)) return;
    this.#refused.give();
    throw new StorageError('ServerBusy', { retryAfterSeconds });
  }

  #hasRoom({ heldBytes }: Holder, bytes: number, bytesMax: number): boolean {
    const share = bytesMax / smallShare;
    const sum = this.#bytes + bytes;
    if (heldBytes + bytes <= smallBytesMax) {
      return sum <= bytesMax || this.#smallBytes + bytes <= share;
    }
    if (sum <= bytesMax - share) return true;
    // Whoever is alone among those who hold much may have what it needs.
    return this.#bytes - this.#smallBytes <= (heldBytes > smallBytesMax ? heldBytes : 0);
  }

  #makeRoom(asking: Holder, bytes: number, bytesMax: number): boolean {
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
      if (this.#hasRoom(asking, bytes, bytesMax)) return true;
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

/** What counts of those who hold little. */
function smallPart(heldBytes: number): number {
  return heldBytes <= smallBytesMax ? heldBytes : 0;
}

/** One whose work is under way keeps nobody waiting. */
function isAtWork({ replied, request, bodyStream, answerStream }: Exchange): boolean {
  if (answerStream?.waitsForSource === true) return true;
  if (replied) return false;
  return request.complete || bodyStream?.waitsForClient === false;
}

/** One whose client would go on with its body, if the server took more of it. */
function waitsForServer({ request }: Exchange): boolean {
  return request instanceof CompactRequest && request.waitsForTurn;
}
