import type { Timer, Timers } from '../async/timers.js';
import type { Clock } from '../clock.js';
import { reservedBytes, type DiskSpace } from './disk-space.js';

/** The space of a disk for the files of a store. */
export interface AvailableSpace extends DiskSpace {
  /** The unused bytes in the files of the store. */
  readonly reusableBytes: number;
  /** The acknowledged bytes that the files do not have yet. */
  readonly owedBytes: number;
}

export interface DiskWatchOptions {
  /** Undefined when nobody says how much there is. */
  readonly space: () => Promise<AvailableSpace | undefined>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
  /** Called when no more than the reserve is left, and when there is more again. */
  readonly onChange?: (isLow: boolean, space: AvailableSpace | undefined) => void;
}

/** Between two looks, at most. Shorter as less is left: as long as writes need for a half. */
const lookEveryMs = 1_000;
const lookMsMin = 10;
const bytesInMs = 200 * 1024;
/** Refused writes look again no sooner than after this time. */
const lookAgainMs = 100;

/** Space that a row takes for each of its bytes, at most: pages that were split are half full. */
const spaceOfOwed = 2;

/** Knows whether the disk of a store has only its reserve left. */
export class DiskWatch {
  readonly #options: DiskWatchOptions;
  #isLow = false;
  #lookedMs = -Infinity;
  #nextMs = lookEveryMs;
  #looking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: DiskWatchOptions) {
    this.#options = options;
  }

  /** Whether the disk had only its reserve left when it was last looked at. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Looks at the disk now, and again and again from then on. */
  async start(): Promise<void> {
    await this.#look();
    if (this.#isClosed) return;
    this.#timer = this.#options.timers.start(this.#nextMs, () => void this.start(), undefined);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.close();
  }

  /** As `isLow`, after another look unless the last one was just now. */
  async isStillLow(): Promise<boolean> {
    if (this.#options.clock.monotonicMs() - this.#lookedMs >= lookAgainMs) await this.#look();
    return this.#isLow;
  }

  /** As `isLow`, after another look. */
  async isLowNow(): Promise<boolean> {
    // One that is under way may have asked before the caller wrote.
    await this.#looking;
    await this.#look();
    return this.#isLow;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { space, clock, onChange } = this.#options;
    // A disk that cannot be asked is one for the store to complain about.
    const found = await space().catch(() => undefined);
    this.#lookedMs = clock.monotonicMs();
    const left = found === undefined ? Infinity : freeBytesOf(found) - reservedBytes(found);
    const halfMs = left / 2 / bytesInMs;
    this.#nextMs = left < 0 ? lookEveryMs : Math.min(lookEveryMs, Math.max(lookMsMin, halfMs));
    const isLow = found !== undefined && isFullButReserve(found);
    const isNews = isLow !== this.#isLow;
    this.#isLow = isLow;
    if (isNews) onChange?.(isLow, found);
  }
}

/** Whether only the reserve of the disk is left, and the files have no space of their own. */
function isFullButReserve(space: AvailableSpace): boolean {
  return freeBytesOf(space) < reservedBytes(space) && !hasReusable(space);
}

function freeBytesOf({ freeBytes, owedBytes }: AvailableSpace): number {
  return freeBytes - owedBytes * spaceOfOwed;
}

/**
 * A data file does not shrink, so what was deleted there is space as well; but not while deletions
 * could not be written.
 */
function hasReusable(space: AvailableSpace): boolean {
  const reserved = reservedBytes(space);
  return freeBytesOf(space) >= reserved / 2 && space.reusableBytes >= reserved;
}
