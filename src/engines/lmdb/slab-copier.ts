import type { Bytes } from '../../base/bytes.js';

const slabBytes = 65_536;
/** A larger copy gets memory of its own: little would be saved, and much might be kept alive. */
const sharedBytesMax = 16_384;

/**
 * Copies byte strings out of a buffer that will be overwritten, many into one allocation. A copy
 * keeps its whole slab alive, so this is for what lives as long as a request.
 */
export class SlabCopier {
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #used = 0;

  copy(source: Bytes, start: number, length: number): Bytes {
    // Not `subarray`: the package shortens the `length` of its buffers without moving their end.
    const view = new Uint8Array(source.buffer, source.byteOffset + start, length);
    if (length > sharedBytesMax) return Buffer.from(view);
    if (this.#used + length > slabBytes) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    const at = this.#used;
    this.#used = at + length;
    this.#slab.set(view, at);
    return this.#slab.subarray(at, at + length);
  }
}
