import { IncomingMessage } from 'node:http';

/** Pieces below this are put together; larger ones are worth an entry of their own. */
const smallBytesMax = 4096;
const capacityMin = 1024;
const capacityMax = 64 * 1024;

/**
 * A request whose body takes little more memory than its bytes, also as long as nobody reads it:
 * one that waits for its turn, or whose sender is not known yet. Node keeps an entry of hundreds of
 * bytes for each chunk; here the small ones that came together are one.
 */
export class CompactRequest extends IncomingMessage {
  #pieces: Buffer | undefined;
  #length = 0;

  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (!Buffer.isBuffer(chunk) || chunk.length >= smallBytesMax) {
      this.#pass();
      return super.push(chunk, encoding);
    }
    // What came in one read of the connection is parsed in this turn of the loop, over many ticks.
    if (this.#pieces === undefined) setImmediate(this.#pass);
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
  readonly #pass = (): void => {
    const pieces = this.#pieces?.subarray(0, this.#length);
    this.#pieces = undefined;
    this.#length = 0;
    if (pieces !== undefined && !this.destroyed) super.push(pieces);
  };
}
