import type { Clock } from '../../../base/clock.js';

/** The longest time for which a row counts as verified. */
export const verifiedPagesMs = 60_000;
/** Turns of pages in that time: the rows of each turn are verified again at another moment. */
const turns = 64;
/** A power of two. Beyond a file of 16 GiB, pages displace each other. */
const pagesMax = 1 << 21;
const firstPages = 1 << 12;
const turnFactor = 0x9e3779b1;
const pageFactor = 0x85ebca6b;

/** Rows of a leaf that were verified, from one index up to another. */
export interface VerifiedSpan {
  readonly from: number;
  readonly to: number;
}

const noRows: VerifiedSpan = { from: 0, to: 0 };

/**
 * Which rows of which mapped pages were verified lately. A checksum costs more than passing over a
 * row, so the rows that many queries pass over are verified once a minute.
 *
 * The transaction that wrote a page is in its head, and a page that a snapshot has is never written
 * over, so page and transaction name the content, long values included: they are freed only when
 * their leaf is written anew. Pages have their places in order, because a scan of rows that were
 * inserted in order reads pages in order, and the processor fetches the next place by itself.
 */
export class VerifiedPages {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** What names content and time, by page; it counts where the page has verified rows. */
  #marks = new Int32Array(firstPages);
  /** The first verified row of a page, and above its 16 bits the row behind the last. */
  #spans = new Uint32Array(firstPages);
  #turn = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Called before rows are checked, and periodically during a long read. */
  begin(): void {
    this.#turn = Math.floor((this.#clock.monotonicMs() * turns) / verifiedPagesMs);
  }

  spanOf(page: number, transaction: number): VerifiedSpan {
    const place = page & (this.#marks.length - 1);
    const span = this.#spans[place] ?? 0;
    if (span === 0 || this.#marks[place] !== this.#markOf(page, transaction)) return noRows;
    return { from: span & 0xffff, to: span >>> 16 };
  }

  keep(page: number, transaction: number, { from, to }: VerifiedSpan): void {
    if (page >= this.#marks.length) this.#grow(page);
    const place = page & (this.#marks.length - 1);
    this.#marks[place] = this.#markOf(page, transaction);
    this.#spans[place] = from | (to << 16);
  }

  #markOf(page: number, transaction: number): number {
    const time = Math.floor((this.#turn + (page % turns)) / turns);
    const place = Math.imul(Math.floor(page / pagesMax), pageFactor);
    return transaction ^ Math.imul(time, turnFactor) ^ place;
  }

  /** Until the bound is reached, each page has a place of its own: its number. */
  #grow(page: number): void {
    let pages = this.#marks.length;
    while (pages <= page && pages < pagesMax) pages *= 2;
    if (pages === this.#marks.length) return;
    const [marks, spans] = [new Int32Array(pages), new Uint32Array(pages)];
    marks.set(this.#marks);
    spans.set(this.#spans);
    [this.#marks, this.#spans] = [marks, spans];
  }
}
