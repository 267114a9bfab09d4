import { IncomingMessage } from 'node:http';
import { nextTurn } from '../../base/async/turns.js';
import { takeIn } from './intake.js';

/** Pieces below this are put together; larger ones are worth an entry of their own. */
const smallBytesMax = 4096;
const capacityMin = 1024;
const capacityMax = 64 * 1024;

/**
 * A request whose body takes little more memory than its bytes, also as long as nobody reads it:
 * one that waits for its turn, or whose sender is not known yet. Node keeps an entry of hundreds of
 * bytes for each chunk; here the small ones that came together are one.
 *
 * Nor does it take more than its share of time: of all bodies that arrive at once, one goes on in
 * each turn of the event loop.
 */
export class CompactRequest extends IncomingMessage {
  #pieces: Buffer | undefined;
  #length = 0;
  /** It has had its share of this turn, and is read on in another. */
  #hasHadItsShare = false;
  #waits = false;

  /** The server reads nothing of it for now, whatever its client sends. */
  get waitsForTurn(): boolean {
    return this.#waits;
  }

  /** False: node reads nothing more of the connection until `_read` is called. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (!Buffer.isBuffer(chunk)) {
      this.#pass();
      return super.push(chunk, encoding);
    }
    this.#hasHadItsShare = !takeIn(chunk);
    const hasRoom = chunk.length < smallBytesMax ? this.#collect(chunk) : this.#passOn(chunk);
    return hasRoom && !this.#hasHadItsShare;
  }

  /** Called when there is room for more of the body. */
  override _read(size: number): void {
    if (!this.#hasHadItsShare) this.#readOn(size);
    else if (!this.#waits) void this.#readInNextTurn(size);
  }

  async #readInNextTurn(size: number): Promise<void> {
    this.#waits = true;
    await nextTurn();
    this.#waits = false;
    this.#hasHadItsShare = false;
    if (!this.complete && !this.destroyed) this.#readOn(size);
  }

  #readOn(size: number): void {
    // oxlint-disable-next-line no-underscore-dangle -- the name that streams of node give it
    super._read(size);
  }

  #passOn(chunk: Buffer): boolean {
    this.#pass();
    return super.push(chunk);
  }

  #collect(chunk: Buffer): boolean {
    // What came in one read of the connection is parsed in this turn of the loop, over many ticks.
    if (this.#pieces === undefined) setImmediate(CompactRequest.#passOf, this);
    else if (this.#length + chunk.length > capacityMax) this.#pass();
    this.#add(chunk);
    return this.readableLength + this.#length < this.readableHighWaterMark;
  }

  #add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#pieces === undefined) this.#pieces = chunk;
    else {
      if (length > this.#pieces.length) this.#pieces = this.#grown(this.#pieces, length);
      chunk.copy(this.#pieces, this.#length);
    }
    this.#length = length;
  }

  #grown(pieces: Buffer, needed: number): Buffer {
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * needed, capacityMin));
    pieces.copy(grown, 0, 0, this.#length);
    return grown;
  }

  /** What was put together is there to be read. */
  #pass(): void {
    const pieces = this.#pieces?.subarray(0, this.#length);
    this.#pieces = undefined;
    this.#length = 0;
    if (pieces !== undefined && !this.destroyed) super.push(pieces);
  }

  static readonly #passOf = (request: CompactRequest): void => request.#pass();
}
