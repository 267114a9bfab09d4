import type { Clock } from '../../base/clock.js';

/** How long a row counts as verified, at most. */
export const verifiedMs = 1_000;
/** A power of two. One that another row displaces is verified again. */
const marksMax = 65_536;
const factor = 0x9e3779b1;

/**
 * The rows that have lately been read, found intact, and not been returned: those that a filter
 * passes over. Summing a row takes longer than passing over it, so one that query after query
 * passes over is summed once a second. A row is known by its checksum, which is over key and
 * version as well.
 */
export class VerifiedRows {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #marks = new Int32Array(marksMax);
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
    return this.#marks[checksum & (marksMax - 1)] === (checksum ^ this.#stamp);
  }

  note(checksum: number): void {
    this.#marks[checksum & (marksMax - 1)] = checksum ^ this.#stamp;
  }
}
