import type { Bytes } from '../../../base/bytes.js';

/** Views are longer than asked for by less than this. */
export const viewStepBytes = 64;
/** Longer ones are made each time: making one is little beside reading it. */
const keptBytesMax = 32_768;

/**
 * Views of the beginning of a buffer that is written over again and again. Making a view costs as
 * much as copying a kilobyte, so each is kept for all lengths within a step.
 */
export class BeginningViews {
  #source: Bytes = new Uint8Array(0);
  #start = 0;
  #views: (Bytes | undefined)[] = [];

  /** A view of at least so many bytes from `start` on, where the memory reaches so far. */
  of(source: Bytes, start: number, length: number): Bytes {
    if (source !== this.#source || start !== this.#start) {
      this.#source = source;
      this.#start = start;
      this.#views = [];
    }
    const step = Math.ceil(length / viewStepBytes);
    const known = this.#views[step];
    if (known !== undefined) return known;
    const view = viewOf(source, start, step * viewStepBytes);
    if (view.length < length || length > keptBytesMax) return view;
    this.#views[step] = view;
    return view;
  }
}

/** Not `subarray`: LMDB's package shortens the `length` of its buffers without moving their end. */
function viewOf({ buffer, byteOffset }: Bytes, start: number, length: number): Bytes {
  const from = byteOffset + start;
  return new Uint8Array(buffer, from, Math.min(length, buffer.byteLength - from));
}
