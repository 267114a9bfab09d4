import type { Bytes } from '../../../base/bytes.js';
import type { Candidate } from '../../../kv/store.js';
import { versionBytes } from '../check/check.js';
import { checksumBytes, type StoredRecord } from '../rows/record.js';
import type { Window } from './mapped-pages.js';

/** The entry at the position of a range over mapped pages. Nothing is copied until it is wanted. */
export class MappedRow implements Candidate, StoredRecord {
  #keyWindow: Window;
  #keyAt = 0;
  #key: Bytes | undefined;
  #dataWindow: Window;
  #dataAt = 0;
  #value: Bytes | undefined;
  keyLength = 0;
  valueLength = 0;

  constructor(window: Window) {
    this.#keyWindow = window;
    this.#dataWindow = window;
  }

  showKey(window: Window, at: number, length: number): void {
    this.#keyWindow = window;
    this.#keyAt = at;
    this.#key = undefined;
    this.keyLength = length;
  }

  /** Data: the version, the value, and the checksum. */
  showData(window: Window, at: number, length: number): void {
    this.#dataWindow = window;
    this.#dataAt = at;
    this.#value = undefined;
    this.valueLength = length - versionBytes - checksumBytes;
  }

  get key(): Bytes {
    return (this.#key ??= viewOf(this.#keyWindow, this.#keyAt, this.keyLength));
  }

  /** The value, followed by its checksum. */
  get value(): Bytes {
    const at = this.#dataAt + versionBytes;
    return (this.#value ??= viewOf(this.#dataWindow, at, this.valueLength + checksumBytes));
  }

  get version(): number {
    return this.#dataWindow.numbers.getFloat64(this.#dataAt, true);
  }
}

function viewOf({ memory }: Window, at: number, length: number): Bytes {
  return new Uint8Array(memory, at, length);
}
