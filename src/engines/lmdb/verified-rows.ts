import type { Clock } from '../../base/clock.js';

/** How long a row counts as verified, at most. */
export const verifiedMs = 1_000;
/** A power of two, as many as 16 bits tell apart. One that is overwritten is verified again. */
const rowsMax = 65_536;
const factor = 0x9e3779b1;

/**
 * The rows that have lately been read, found intact, and not been returned: those that a filter
 * passes over. Summing a row takes longer than passing over it, so one that query after query
 * passes over is summed once a second. A row is known by its checksum, which is over key and
 * version as well.
 *
 * Rows are kept in the order in which they were read. The next query meets them in that order
 * again, so the next of them is looked at first: to look for each on its own would miss the
 * processor's cache every time.
 */
export class VerifiedRows {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Marks of rows, one behind the other; the newest overwrite the oldest. */
  readonly #marks = new Int32Array(rowsMax);
  /** Where the mark of a row may be, by its checksum. */
  readonly #places = new Uint16Array(rowsMax);
  /** Behind the newest mark. */
  #end = 0;
  /** Behind the mark of the row that was met last. */
  #next = 0;
  /** What makes marks of the current second out of checksums. */
  #stamp = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Before rows are looked at, and again after a while. */
  begin(): void {
    // The marks of a second ago become those of no row.
    this.#stamp = Math.imul(Math.floor(this.#clock.monotonicMs() / verifiedMs) + 1, factor);
  }

  has(checksum: number): boolean {
    const mark = checksum ^ this.#stamp;
    let place = this.#next;
    if (this.#marks[place] !== mark) {
      place = this.#places[checksum & (rowsMax - 1)] ?? 0;
      if (this.#marks[place] !== mark) return false;
    }
    this.#next = (place + 1) & (rowsMax - 1);
    return true;
  }

  note(checksum: number): void {
    const place = this.#end;
    this.#marks[place] = checksum ^ this.#stamp;
    this.#places[checksum & (rowsMax - 1)] = place;
    this.#end = (place + 1) & (rowsMax - 1);
    this.#next = this.#end;
  }
}
