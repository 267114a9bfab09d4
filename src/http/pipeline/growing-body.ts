/** Called before more memory is taken for a body; what it throws refuses the body. */
export type OnGrowth = (bytes: number) => void;

/** Many small pieces cost as often as the body doubles. */
const capacityMin = 16 * 1024;

/** Bytes while they arrive. What comes in one piece is not copied. */
export class GrowingBody {
  readonly #bytesMax: number;
  readonly #onGrowth: OnGrowth;
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  /** The caller adds no more than `bytesMax`: there is no room for more in advance. */
  constructor(bytesMax: number, onGrowth: OnGrowth) {
    this.#bytesMax = bytesMax;
    this.#onGrowth = onGrowth;
  }

  get length(): number {
    return this.#length;
  }

  /** How much memory it takes. */
  get capacity(): number {
    return this.#buffer.length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0) this.#begin(chunk);
    else {
      if (length > this.#buffer.length) this.#grow(length);
      chunk.copy(this.#buffer, this.#length);
    }
    this.#length = length;
  }

  #begin(chunk: Buffer): void {
    this.#onGrowth(chunk.length);
    this.#buffer = chunk;
  }

  #grow(needed: number): void {
    const wanted = Math.min(Math.max(2 * needed, capacityMin), this.#bytesMax);
    const capacity = Math.max(needed, wanted);
    this.#onGrowth(capacity - this.#buffer.length);
    const buffer = Buffer.allocUnsafeSlow(capacity);
    this.#buffer.copy(buffer, 0, 0, this.#length);
    this.#buffer = buffer;
  }
}
