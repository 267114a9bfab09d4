import type { Bytes } from '../../../base/bytes.js';

/** Views exceed the requested length by less than this. */
export const viewStepBytes = 64;
/** Longer views are not cached: creating one is cheap compared with reading it. */
const keptBytesMax = 32_768;

/**
 * A cache of views of the beginning of a reused buffer. Creating a view costs as much as copying a
 * kilobyte, so one view serves all lengths within a step.
 */
export class BeginningViews {
  #source: Bytes = new Uint8Array(0);
  #start = 0;
  #views: (Bytes | undefined)[] = [];

  /** A view of at least `length` bytes from `start` on, as far as the memory reaches. */
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

/** Not `subarray`: the package overwrites the `length` of its buffers. */
function viewOf({ buffer, byteOffset }: Bytes, start: number, length: number): Bytes {
  const from = byteOffset + start;
  return new Uint8Array(buffer, from, Math.min(length, buffer.byteLength - from));
}
