import type { Candidate, Entry } from '../../kv/store.js';
import { LaidOutRow } from './rows/laid-out-row.js';
import {
  block,
  blockBytes,
  isIntactRecord,
  keyLaidOut,
  laidOutBytes,
  layOut,
  nextStep,
  type StoredRecord,
  valueLaidOut,
  versionLaidOut,
} from './rows/record.js';

/** A larger record gets its own memory: sharing would save little and could keep much alive. */
const sharedBytesMax = 16_384;

/** Shared by all gatherers, like the memory that it shows. */
const laidOutRow = new LaidOutRow();

/**
 * Verifies rows and copies them, many at once, out of memory that will be overwritten. Entries
 * share memory and keep each other alive, so use this for entries that live no longer than a
 * request. Only one gatherer may be active at a time, without interruption: it uses the module's
 * checksum buffer.
 */
export class EntryGatherer {
  readonly #entries: Entry[] = [];
  #used = 0;

  /** The number of entries. */
  count = 0;

  /** Adds a row. Returns false, and skips the row, when its checksum does not match. */
  add(row: StoredRecord): boolean {
    const bytes = laidOutBytes(row);
    if (bytes > sharedBytesMax) return this.#addAlone(row);
    if (this.#used + bytes > blockBytes) this.#takeOut();
    if (!layOut(row, this.#used)) return false;
    this.#used = nextStep(this.#used + bytes);
    this.count += 1;
    return true;
  }

  /** Verifies the checksum of a row that is not added. */
  verify(row: StoredRecord): boolean {
    return this.laidOut(row) !== undefined;
  }

  /**
   * A row that is not added, from memory that is near, valid until the next call. Undefined when
   * its checksum does not match.
   */
  laidOut(row: StoredRecord): Candidate | undefined {
    const bytes = laidOutBytes(row);
    if (this.#used + bytes > blockBytes) this.#takeOut();
    if (bytes > blockBytes) return isIntactRecord(row) ? row : undefined;
    if (!layOut(row, this.#used)) return undefined;
    laidOutRow.show(this.#used, row.valueLength);
    return laidOutRow;
  }

  /** All added entries in order. The gatherer cannot be used afterwards. */
  entries(): readonly Entry[] {
    this.#takeOut();
    return this.#entries;
  }

  #addAlone(row: StoredRecord): boolean {
    this.#takeOut();
    if (!isIntactRecord(row)) return false;
    const key = Buffer.from(row.key);
    const value = Buffer.from(row.value.subarray(0, row.valueLength));
    this.#entries.push({ key, value, version: row.version });
    this.count += 1;
    return true;
  }

  /** Copies the rows in the buffer to memory of their own. */
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
