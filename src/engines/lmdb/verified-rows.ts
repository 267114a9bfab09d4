import type { Clock } from '../../base/clock.js';

/** How long a row counts as verified. */
export const verifiedMs = 1_000;
/** A power of two, addressable with 16 bits. An overwritten row is verified again. */
const rowsMax = 65_536;
const factor = 0x9e3779b1;

/**
 * A cache of recently verified rows that were not returned, such as those that a filter skips. A
 * checksum costs more than a skip, so a row that many queries skip is verified once a second. The
 * checksum, which covers key and version, identifies a row.
 *
 * Rows are kept in the order in which they were read. The next query usually reads them in the same
 * order, so the next row is tried first: a lookup of each row would miss the processor's cache.
 */
export class VerifiedRows {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Marks of rows in a ring buffer; the newest overwrite the oldest. */
  readonly #marks = new Int32Array(rowsMax);
  /** The position of a row's mark, by checksum. */
  readonly #slots = new Uint16Array(rowsMax);
  /** The position after the newest mark. */
  #end = 0;
  /** The position after the mark of the last row found. */
  #next = 0;
  /** The current second, mixed into each checksum to make a mark. */
  #stamp = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Called before rows are checked, and periodically during a long read. */
  begin(): void {
    // Marks of earlier seconds no longer match any row.
    this.#stamp = Math.imul(Math.floor(this.#clock.monotonicMs() / verifiedMs) + 1, factor);
  }

  has(checksum: number): boolean {
    const mark = checksum ^ this.#stamp;
    let slot = this.#next;
    if (this.#marks[slot] !== mark) {
      slot = this.#slots[checksum & (rowsMax - 1)] ?? 0;
      if (this.#marks[slot] !== mark) return false;
    }
    this.#next = (slot + 1) & (rowsMax - 1);
    return true;
  }

  note(checksum: number): void {
    const slot = this.#end;
    this.#marks[slot] = checksum ^ this.#stamp;
    this.#slots[checksum & (rowsMax - 1)] = slot;
    this.#end = (slot + 1) & (rowsMax - 1);
    this.#next = this.#end;
  }
}
