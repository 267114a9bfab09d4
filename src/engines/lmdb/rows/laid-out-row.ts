import type { Bytes } from '../../../base/bytes.js';
import type { Candidate } from '../../../kv/store.js';
import { BeginningViews } from './beginning-views.js';
import { block, keyLaidOut, valueLaidOut, versionLaidOut } from './record.js';

/**
 * The row that is laid out for its checksum: memory that the processor has at hand, at the same
 * place for nearly every row, so that views of it are made once. Valid until another is laid out.
 */
export class LaidOutRow implements Candidate {
  readonly #values = new BeginningViews();
  /** Views of keys, by their length, where the last row began. */
  #keys: (Bytes | undefined)[] = [];
  #start = 0;
  #at = 0;
  valueLength = 0;

  show(at: number, valueLength: number): void {
    this.#at = at;
    this.valueLength = valueLength;
  }

  get key(): Bytes {
    const { start, end } = keyLaidOut(this.#at);
    if (start !== this.#start) {
      this.#start = start;
      this.#keys = [];
    }
    return (this.#keys[end - start] ??= block.subarray(start, end));
  }

  get value(): Bytes {
    return this.#values.of(block, valueLaidOut(this.#at).start, this.valueLength);
  }

  get version(): number {
    return versionLaidOut(this.#at);
  }
}
