import { getLastVersion } from 'lmdb';
import type { Bytes } from '../../base/bytes.js';
import type { Candidate } from '../../kv/store.js';
import { BeginningViews } from './rows/beginning-views.js';
import { checksumBytes, storedChecksum, type StoredRecord } from './rows/record.js';
import type { VerifiedRows } from './verified-rows.js';

const noBytes: Bytes = Buffer.alloc(0);

/**
 * The entry at the position of a range, in the package's own buffers. Nothing is copied until it is
 * wanted. The package calls the setters, key first, whenever the range advances.
 */
export class CursorRow implements Candidate, StoredRecord {
  readonly #valueViews = new BeginningViews();
  #keySource = noBytes;
  #keyStart = 0;
  /** Reused for all keys of one length: the package writes each to the same address. */
  #key = noBytes;
  #storedLength = 0;
  #value = noBytes;
  keyLength = 0;

  setKey(source: Bytes, start: number, end: number): void {
    this.keyLength = end - start;
    if (source === this.#keySource && start === this.#keyStart) return;
    this.#keySource = source;
    this.#keyStart = start;
    this.#key = noBytes;
  }

  setValue(source: Bytes, length: number): void {
    this.#storedLength = length;
    this.#value = this.#valueViews.of(source, 0, length);
  }

  get key(): Bytes {
    if (this.#key.length !== this.keyLength) {
      const { buffer, byteOffset } = this.#keySource;
      this.#key = Buffer.from(buffer, byteOffset + this.#keyStart, this.keyLength);
    }
    return this.#key;
  }

  get value(): Bytes {
    return this.#value;
  }

  get valueLength(): number {
    return this.#storedLength - checksumBytes;
  }

  get version(): number {
    return getLastVersion();
  }
}

/** The rows of a range of the package. */
export class CursorRows {
  readonly row: CursorRow;
  readonly #iterator: Iterator<unknown>;
  readonly #verified: VerifiedRows;

  constructor(found: Iterable<unknown>, row: CursorRow, verified: VerifiedRows) {
    this.row = row;
    this.#verified = verified;
    this.#iterator = found[Symbol.iterator]();
  }

  next(): boolean {
    return this.#iterator.next().done !== true;
  }

  isVerified(): boolean {
    return this.#verified.has(storedChecksum(this.row));
  }

  noteVerified(): void {
    this.#verified.note(storedChecksum(this.row));
  }

  /** Gives the cursor back. */
  close(): void {
    this.#iterator.return?.();
  }
}
