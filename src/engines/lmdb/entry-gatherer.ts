import type { Entry } from '../../kv/store.js';
import type { CursorRow } from './cursor-row.js';
import {
  block,
  blockBytes,
  isIntactRecord,
  keyLaidOut,
  laidOutBytes,
  layOut,
  nextStep,
  valueLaidOut,
  versionLaidOut,
} from './rows/record.js';

/** A larger record gets memory of its own: little would be saved, and much might be kept alive. */
const sharedBytesMax = 16_384;

/**
 * Verifies rows and copies them out of memory that will be overwritten, many at once. An entry
 * keeps those beside it alive, so this is for what lives as long as a request. Only one gatherer
 * may be at work at a time, without a pause: it works in the memory in which records are summed.
 */
export class EntryGatherer {
  readonly #entries: Entry[] = [];
  #used = 0;

  /** How many entries there are. */
  count = 0;

  /** False: the row is not what was written, and left out. */
  add(row: CursorRow): boolean {
    const bytes = laidOutBytes(row);
    if (bytes > sharedBytesMax) return this.#addAlone(row);
    if (this.#used + bytes > blockBytes) this.#takeOut();
    if (!layOut(row, this.#used)) return false;
    this.#used = nextStep(this.#used + bytes);
    this.count += 1;
    return true;
  }

  /** Whether a row that is not wanted is what was written. */
  verify(row: CursorRow): boolean {
    const bytes = laidOutBytes(row);
    if (this.#used + bytes > blockBytes) this.#takeOut();
    return bytes > blockBytes ? isIntactRecord(row) : layOut(row, this.#used);
  }

  /** All that was added, in order. The end of the gatherer's work. */
  entries(): readonly Entry[] {
    this.#takeOut();
    return this.#entries;
  }

  #addAlone(row: CursorRow): boolean {
    this.#takeOut();
    if (!isIntactRecord(row)) return false;
    const key = Buffer.from(row.key);
    const value = Buffer.from(row.value.subarray(0, row.valueLength));
    this.#entries.push({ key, value, version: row.version });
    this.count += 1;
    return true;
  }

  /** Copies what is laid out into memory of its own. */
  #takeOut(): void {
    if (this.#used === 0) return;
    const memory = Buffer.allocUnsafeSlow(this.#used);
    block.copy(memory, 0, 0, this.#used);
    for (let at = 0; at < this.#used;) {
      const key = keyLaidOut(at);
      const value = valueLaidOut(at);
      this.#entries.push({
        key: memory.subarray(key.start, key.end),
        value: memory.subarray(value.start, value.end),
        version: versionLaidOut(at),
      });
      at = nextStep(value.end);
    }
    this.#used = 0;
  }
}
