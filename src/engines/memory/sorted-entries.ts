import type { Bytes } from '../../base/bytes.js';
import { compareBytes } from '../../base/bytes.js';
import type { Entry, KeyRange } from '../../kv/store.js';

/** Entries in one chunk, at most: a full one is cut in half. */
const chunkEntriesMax = 512;

/** Index of a chunk, and of an entry in it. */
interface Place {
  readonly chunk: number;
  readonly entry: number;
}

/**
 * Entries in key order, as a list of short sorted arrays. Finding costs two binary searches; a put
 * moves at most one chunk, and rarely the list of chunks. No chunk but an only one is empty.
 */
export class SortedEntries {
  readonly #chunks: Entry[][];

  constructor(chunks: Entry[][] = [[]]) {
    this.#chunks = chunks;
  }

  get size(): number {
    return this.#chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /** The same entries, which change independently from here on. */
  copy(): SortedEntries {
    return new SortedEntries(this.#chunks.map((chunk) => chunk.slice()));
  }

  get(key: Bytes): Entry | undefined {
    const { chunk, entry } = this.#seek(key);
    const found = this.#chunks[chunk]?.[entry];
    return found !== undefined && compareBytes(found.key, key) === 0 ? found : undefined;
  }

  put(entry: Entry): void {
    const place = this.#seek(entry.key);
    const chunk = this.#chunks[place.chunk] ?? [];
    const found = chunk[place.entry];
    if (found !== undefined && compareBytes(found.key, entry.key) === 0) {
      chunk[place.entry] = entry;
      return;
    }
    chunk.splice(place.entry, 0, entry);
    if (chunk.length > chunkEntriesMax) {
      // Keys often arrive in order; cutting near the end then leaves full chunks behind.
      const inOrder = place.entry === chunk.length - 1;
      const cut = inOrder ? chunk.length - 1 : chunk.length >> 1;
      this.#chunks.splice(place.chunk + 1, 0, chunk.splice(cut));
    }
  }

  delete(key: Bytes): void {
    const place = this.#seek(key);
    const chunk = this.#chunks[place.chunk] ?? [];
    const found = chunk[place.entry];
    if (found === undefined || compareBytes(found.key, key) !== 0) return;
    chunk.splice(place.entry, 1);
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(place.chunk, 1);
  }

  /** The entries of a range, first to last. Nothing may be written while this is walked. */
  *forward(range: KeyRange): Generator<Entry, void, void> {
    let { chunk, entry } = this.#seek(range.start);
    for (; chunk < this.#chunks.length; chunk += 1, entry = 0) {
      const entries = this.#chunks[chunk] ?? [];
      for (; entry < entries.length; entry += 1) {
        const found = entries[entry];
        if (found === undefined || isAtOrAfter(found.key, range.end)) return;
        yield found;
      }
    }
  }

  /** The entries of a range, last to first. Nothing may be written while this is walked. */
  *backward(range: KeyRange): Generator<Entry, void, void> {
    let { chunk, entry } = range.end === undefined ? this.#end() : this.#seek(range.end);
    while (chunk >= 0) {
      const entries = this.#chunks[chunk] ?? [];
      for (entry -= 1; entry >= 0; entry -= 1) {
        const found = entries[entry];
        if (found === undefined || compareBytes(found.key, range.start) < 0) return;
        yield found;
      }
      chunk -= 1;
      entry = this.#chunks[chunk]?.length ?? 0;
    }
  }

  /** Where the first entry at or after the key is, or would be put. */
  #seek(key: Bytes): Place {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const first = this.#chunks[middle]?.[0];
      if (first !== undefined && compareBytes(first.key, key) <= 0) low = middle;
      else high = middle - 1;
    }
    return { chunk: low, entry: firstAtOrAfter(this.#chunks[low] ?? [], key) };
  }

  #end(): Place {
    const chunk = this.#chunks.length - 1;
    return { chunk, entry: this.#chunks[chunk]?.length ?? 0 };
  }
}

function firstAtOrAfter(entries: readonly Entry[], key: Bytes): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const entry = entries[middle];
    if (entry !== undefined && compareBytes(entry.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isAtOrAfter(key: Bytes, end: Bytes | undefined): boolean {
  return end !== undefined && compareBytes(key, end) >= 0;
}
