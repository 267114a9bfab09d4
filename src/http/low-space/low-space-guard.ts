import type { Timer, Timers } from '../../base/async/timers.js';
import type { Clock } from '../../base/clock.js';
import { reservedBytes, type DiskSpace } from '../../base/disk-space.js';
import { operationClass } from '../../model/analytics/operation-name.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Logger } from '../exchange/logger.js';
import type { AdmittedRequest, Interceptor } from '../pipeline/interceptor.js';

/** The space for what is not content of blobs. */
export interface AvailableSpace extends DiskSpace {
  /** The unused bytes in the files of the store. */
  readonly reusableBytes: number;
  /** The acknowledged bytes that the files do not have yet. */
  readonly owedBytes: number;
}

export interface LowSpaceGuardOptions {
  /** Undefined when nobody says how much there is. */
  readonly space: () => Promise<AvailableSpace | undefined>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** Between two looks, at most. Shorter as less is left: as long as writes need for a half. */
const lookEveryMs = 1_000;
const lookMsMin = 10;
const bytesInMs = 200 * 1024;
/** Refused requests look again no sooner than after this time. */
const lookAgainMs = 100;

/** Space that a row takes for each of its bytes, at most: pages that were split are half full. */
const spaceOfOwed = 2;

const mebibyte = 1024 * 1024;

/** Writes that need no or hardly any space, besides those of leases and settings. */
const lasting: ReadonlySet<string> = new Set([
  'AbortCopyBlob',
  'AppendBlobSeal',
  'BlobBatch',
  'SetBlobTier',
  'UpdateMessage',
]);
const settings = /Lease|ServiceProperties$|Acl$|ACL$/;

/**
 * Refuses writes that need space when the disk has only its reserve left, so that deletions and
 * starts stay possible.
 */
export class LowSpaceGuard implements Interceptor {
  readonly #options: LowSpaceGuardOptions;
  #isActive = false;
  #lookedMs = -Infinity;
  #nextMs = lookEveryMs;
  #looking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: LowSpaceGuardOptions) {
    this.#options = options;
  }

  get isActive(): boolean {
    return this.#isActive;
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

  async beforeWork({ operation, exchange, mayGrow }: AdmittedRequest): Promise<void> {
    const isWrite = operationClass(operation, exchange.method) === 'write';
    if (!isWrite || !mayGrow || lasting.has(operation) || settings.test(operation)) return;
    if (this.#options.clock.monotonicMs() - this.#lookedMs >= lookAgainMs) await this.#look();
    if (!this.#isActive) return;
    throw new StorageError('InternalError', {
      message:
        'The disk of the server is full but for a reserve. Deletions are served, and writes again ' +
        'when there is space: delete what is not needed, or make space on the disk.',
    });
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    const { space, clock, logger } = this.#options;
    // A disk that cannot be asked is one for the store to complain about.
    const found = await space().catch(() => undefined);
    this.#lookedMs = clock.monotonicMs();
    const left = found === undefined ? Infinity : freeBytesOf(found) - reservedBytes(found);
    const halfMs = left / 2 / bytesInMs;
    this.#nextMs = left < 0 ? lookEveryMs : Math.min(lookEveryMs, Math.max(lookMsMin, halfMs));
    const isFull = found !== undefined && isFullButReserve(found);
    if (isFull && !this.#isActive) {
      logger.error('the disk is full but for a reserve: writes that need space are refused', {
        leftMebibytes: Math.floor(found.freeBytes / mebibyte),
      });
    }
    if (!isFull && this.#isActive) logger.warn('the disk has space again: all writes are served');
    this.#isActive = isFull;
  }
}

/** Whether only the reserve of the disk is left, and the files have no space of their own. */
export function isFullButReserve(space: AvailableSpace): boolean {
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
