/** Called before more memory is taken for a body; what it throws refuses the body. */
export type OnGrowth = (bytes: number) => void;

const noBytes = Buffer.alloc(0);

/** Many small pieces cost as often as the body doubles, until it is as large as a step. */
const capacityMin = 16 * 1024;
const stepBytes = 64 * 1024;
/** What may become as large grows in place. */
const largeBytesMin = 256 * 1024;

/**
 * Bytes while they arrive. What comes in one piece is not copied. What may become large grows where
 * it is: old buffers would wait for the next collection of garbage, which looks at objects and
 * hardly at the megabytes behind them. Who has used it calls `freeBody`.
 */
export class GrowingBody {
  readonly #bytesMax: number;
  readonly #onGrowth: OnGrowth;
  #buffer: Buffer = noBytes;
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
    const capacity = Math.max(needed, Math.min(this.#capacityFor(needed), this.#bytesMax));
    this.#onGrowth(capacity - this.#buffer.length);
    const { buffer } = this.#buffer;
    if (isResizable(buffer)) {
      buffer.resize(capacity);
      this.#buffer = Buffer.from(buffer, 0, capacity);
      return;
    }
    const isLarge = this.#mayBeLarge && capacity >= stepBytes;
    const grown = isLarge ? resizable(capacity, this.#bytesMax) : Buffer.allocUnsafeSlow(capacity);
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }

  get #mayBeLarge(): boolean {
    return this.#bytesMax >= largeBytesMin;
  }

  #capacityFor(needed: number): number {
    const doubled = Math.max(2 * needed, capacityMin);
    if (!this.#mayBeLarge || doubled < stepBytes) return doubled;
    return Math.ceil(needed / stepBytes) * stepBytes;
  }
}

/** Address space for the largest there may be, of which only `bytes` are memory. */
function resizable(bytes: number, bytesMax: number): Buffer {
  return Buffer.from(new ArrayBuffer(bytes, { maxByteLength: bytesMax }), 0, bytes);
}

function isResizable(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return buffer instanceof ArrayBuffer && buffer.resizable;
}

/**
 * Gives the memory of a large body back at once: so many bytes. Nothing may read it any more. That
 * of others is given back with other garbage.
 */
export function freeBody({ buffer }: Buffer): number {
  if (!isResizable(buffer)) return 0;
  const bytes = buffer.byteLength;
  buffer.resize(0);
  return bytes;
}
