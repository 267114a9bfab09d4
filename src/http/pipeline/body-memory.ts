/** A body that is too long for a buffer of one size has more than half of the next. */
const sizes = [128 * 1024, 256 * 1024] as const;

/** Shorter bodies are cheap to make room for. */
const shortestBytes = 64 * 1024;

/** Buffers of each size that wait for a body. */
const waitingBuffers = 8;

/**
 * Lends buffers to bodies, one after another. New memory outside of the heap counts against a
 * budget of V8, which collects the whole heap when it is used up: of a load of transactions that is
 * a fifth of the processor time.
 */
class BodyMemory {
  readonly #waiting = new Map<number, ArrayBuffer[]>(sizes.map((size) => [size, []]));
  /** A buffer that nobody takes back is left to garbage collection. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  /** The size of the buffer for a body of `bytes` bytes; undefined when no size fits. */
  sizeFor(bytes: number): number | undefined {
    return bytes <= shortestBytes ? undefined : sizes.find((size) => bytes <= size);
  }

  /** A buffer of a size that `sizeFor` has named. It holds what a body before has left in it. */
  lend(size: number): ArrayBuffer {
    const buffer = this.#waiting.get(size)?.pop() ?? new ArrayBuffer(size);
    this.#lent.add(buffer);
    return buffer;
  }

  /**
   * Takes a buffer back, which its body must not use any more, and returns its size. Returns 0 for
   * any other.
   */
  takeBack(buffer: ArrayBufferLike): number {
    if (!(buffer instanceof ArrayBuffer) || !this.#lent.delete(buffer)) return 0;
    const waiting = this.#waiting.get(buffer.byteLength);
    if (waiting !== undefined && waiting.length < waitingBuffers) waiting.push(buffer);
    return buffer.byteLength;
  }
}

/** The memory of the process, which its services share. */
export const bodyMemory = new BodyMemory();
