import { bodyMemory } from './body-memory.js';

/** Called before more memory is allocated for a body; an error refuses the body. */
export type OnGrowth = (bytes: number) => void;

const noBytes = Buffer.alloc(0);

/** The capacity begins here and doubles, so that many small chunks cost few copies. */
const capacityMin = 16 * 1024;
const stepBytes = 64 * 1024;
/** Bodies that may become this large grow in place. */
const largeBytesMin = 256 * 1024;

/**
 * A growing buffer of received bytes. A body in one chunk is not copied. A body that may become
 * large grows in place: replaced buffers would wait for a garbage collection, which hardly counts
 * the memory outside of the heap. One of a moderate length grows into a buffer that bodies use one
 * after another. The user frees the body: with `freeBody`, or with `free` before it is complete.
 */
export class GrowingBody {
  readonly #bytesMax: number;
  readonly #onGrowth: OnGrowth;
  #buffer: Buffer = noBytes;
  #length = 0;

  /** The caller appends no more than `bytesMax` in all. */
  constructor(bytesMax: number, onGrowth: OnGrowth) {
    this.#bytesMax = bytesMax;
    this.#onGrowth = onGrowth;
  }

  get length(): number {
    return this.#length;
  }

  /** The allocated bytes. */
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

  /** Frees what was received. */
  free(): void {
    freeBody(this.#buffer);
    this.#buffer = noBytes;
    this.#length = 0;
  }

  #begin(chunk: Buffer): void {
    this.#onGrowth(chunk.length);
    this.#buffer = chunk;
  }

  #grow(needed: number): void {
    const wanted = Math.max(needed, Math.min(this.#capacityFor(needed), this.#bytesMax));
    const lentSize = this.#mayBeLarge ? undefined : bodyMemory.sizeFor(wanted);
    const capacity = lentSize ?? wanted;
    this.#onGrowth(capacity - this.#buffer.length);
    const { buffer } = this.#buffer;
    if (isResizable(buffer)) {
      buffer.resize(capacity);
      this.#buffer = Buffer.from(buffer, 0, capacity);
      return;
    }
    const grown =
      lentSize === undefined ? this.#fresh(capacity) : Buffer.from(bodyMemory.lend(lentSize));
    this.#buffer.copy(grown, 0, 0, this.#length);
    bodyMemory.takeBack(buffer);
    this.#buffer = grown;
  }

  #fresh(capacity: number): Buffer {
    return this.#mayBeLarge && capacity >= stepBytes
      ? resizable(capacity, this.#bytesMax)
      : Buffer.allocUnsafeSlow(capacity);
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

/** Reserves address space for the largest size and commits only `bytes`. */
function resizable(bytes: number, bytesMax: number): Buffer {
  return Buffer.from(new ArrayBuffer(bytes, { maxByteLength: bytesMax }), 0, bytes);
}

function isResizable(buffer: ArrayBufferLike): buffer is ArrayBuffer {
  return buffer instanceof ArrayBuffer && buffer.resizable;
}

/**
 * Frees the memory of a large body, or of one in a buffer that others use after it, at once and
 * returns its size. Nothing may read it any more. The memory of small bodies is freed by garbage
 * collection.
 */
export function freeBody({ buffer }: Buffer): number {
  if (!isResizable(buffer)) return bodyMemory.takeBack(buffer);
  const bytes = buffer.byteLength;
  buffer.resize(0);
  return bytes;
}
