import { IncomingMessage } from 'node:http';
import { nextTurn } from '../../base/async/turns.js';
import { takeIn } from './intake.js';

/** Smaller chunks are merged; larger ones are kept as they are. */
const smallBytesMax = 4096;
const capacityMin = 1024;
const capacityMax = 64 * 1024;

/**
 * A request whose unread body takes little more memory than its bytes, such as while it waits for
 * its turn or for authentication. Node keeps hundreds of bytes for each chunk; here small chunks
 * that arrive together are merged.
 *
 * It also limits processor time: of all bodies that arrive together, one continues in each turn of
 * the event loop.
 */
export class CompactRequest extends IncomingMessage {
  #pieces: Buffer | undefined;
  #length = 0;
  /** The request has used its share of this turn and continues in a later one. */
  #hasHadItsShare = false;
  #waits = false;

  /** True while the server pauses reading, whatever the client sends. */
  get waitsForTurn(): boolean {
    return this.#waits;
  }

  /** Returns false to pause reading until `_read` is called. */
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
    // Node parses one read of the connection in this turn of the event loop, over many ticks.
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

  /** Passes the merged chunks on. */
  #pass(): void {
    const pieces = this.#pieces?.subarray(0, this.#length);
    this.#pieces = undefined;
    this.#length = 0;
    if (pieces !== undefined && !this.destroyed) super.push(pieces);
  }

  static readonly #passOf = (request: CompactRequest): void => request.#pass();
}
