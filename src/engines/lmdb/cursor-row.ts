import { getLastVersion } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import type { Candidate, Entry } from '../../kv/store.js';
import type { WordBytes } from './record.js';
import { checksumBytes, isIntact, isIntactThere, seedOf, wordBytesOf } from './record.js';
import { SlabCopier } from './slab-copier.js';

const noBytes: Bytes = Buffer.alloc(0);
/** How far a view reaches at least, where there is memory. Most values fit. */
const viewBytesMin = 65_536;

/**
 * The entry that a range stands on, in the package's own buffers. Nothing is copied before it is
 * known to be wanted. The package calls the setters, key first, each time the range moves on.
 */
export class CursorRow implements Candidate {
  readonly #copier = new SlabCopier();
  #keySource = noBytes;
  #keyStart = 0;
  /** Serves for all keys of one length: the package writes each to the same place. */
  #keyView = noBytes;
  #valueSource = noBytes;
  /** Reaches beyond the value, so that it serves for the next ones too. */
  #valueView: Buffer = Buffer.alloc(0);
  /** The same by words, where it begins at one. */
  #valueWords: WordBytes | undefined;
  keyLength = 0;
  valueLength = 0;

  setKey(source: Bytes, start: number, end: number): void {
    this.keyLength = end - start;
    if (source === this.#keySource && start === this.#keyStart) return;
    this.#keySource = source;
    this.#keyStart = start;
    this.#keyView = noBytes;
  }

  setValue(source: Bytes, length: number): void {
    this.valueLength = length - checksumBytes;
    if (source === this.#valueSource && this.#valueView.length >= length) return;
    this.#valueSource = source;
    // The package shortens the `length` of its buffers without moving their end.
    const room = source.buffer.byteLength - source.byteOffset;
    const reach = Math.min(room, Math.max(length, viewBytesMin));
    this.#valueView = Buffer.from(source.buffer, source.byteOffset, reach);
    this.#valueWords = wordBytesOf(this.#valueView);
  }

  get key(): Bytes {
    if (this.#keyView.length !== this.keyLength) {
      const { buffer, byteOffset } = this.#keySource;
      this.#keyView = Buffer.from(buffer, byteOffset + this.#keyStart, this.keyLength);
    }
    return this.#keyView;
  }

  get value(): Bytes {
    return this.#valueView;
  }

  get version(): number {
    return getLastVersion();
  }

  /** Whether key, version and value are those that were written. */
  isIntact(): boolean {
    const { key, valueLength } = this;
    const version = getLastVersion();
    if (valueLength < 0) return false;
    if (this.#valueWords === undefined) {
      return isIntact(key, version, this.#valueView.subarray(0, valueLength + checksumBytes));
    }
    return isIntactThere(this.#valueWords, valueLength, seedOf(key, this.keyLength, version));
  }

  /** The entry in memory of its own. */
  copy(): Entry {
    const key = this.#copier.copy(this.#keySource, this.#keyStart, this.keyLength);
    const value = this.#copier.copy(this.#valueSource, 0, this.valueLength);
    return { key, value, version: getLastVersion() };
  }
}
