/** Each size is at most twice the one before, so a body fills more than half of its buffer. */
const sizes = [128 * 1024, 256 * 1024] as const;

/** Allocating memory for shorter bodies is cheap. */
const shortestBytes = 64 * 1024;

/** Buffers of each size that wait for a body. */
const waitingBuffers = 8;

/**
 * Lends buffers to bodies, one after another. V8 collects the whole heap whenever new memory
 * outside of the heap exceeds a budget. Under a load of transactions, these collections took a
 * fifth of the processor time.
 */
class BodyMemory {
  readonly #waiting = new Map<number, ArrayBuffer[]>(sizes.map((size) => [size, []]));
  /** The lent buffers. One that is never taken back is freed by garbage collection. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  /** The size of the buffer for a body of `bytes` bytes; undefined when no size fits. */
  sizeFor(bytes: number): number | undefined {
    return bytes <= shortestBytes ? undefined : sizes.find((size) => bytes <= size);
  }

  /** A buffer of a size that `sizeFor` has named. It still holds bytes of a former body. */
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
