import { reservedBytes } from '../../base/disk/disk-space.js';
import { ContentWriteError } from '../errors.js';
import type { ContentFiles } from './content-files.js';

const mebibyte = 1024 * 1024;
/**
 * At most this many bytes, and at most `grantedShare` of the free ones, are written before the disk
 * is asked again.
 */
const grantedBytes = 32 * mebibyte;
const grantedShare = 1 / 4;

/** Keeps the last bytes of a disk from new content. */
export class DiskReserve {
  readonly #files: Pick<ContentFiles, 'room'>;
  /** The bytes that may be written before the disk is asked again. */
  #granted = 0;

  constructor(files: Pick<ContentFiles, 'room'>) {
    this.#files = files;
  }

  /**
   * To be called before `bytes` bytes of content are written. Rejects with a `ContentWriteError`
   * that `isFull`.
   */
  take(bytes: number): Promise<void> | undefined {
    if (bytes > this.#granted) return this.#ask(bytes);
    this.#granted -= bytes;
    return undefined;
  }

  async #ask(bytes: number): Promise<void> {
    const room = await this.#files.room();
    if (room === undefined) {
      this.#granted = Infinity;
      return;
    }
    const reserved = reservedBytes(room);
    const left = room.freeBytes - reserved - bytes;
    if (left < 0) throw reached(room.freeBytes, reserved);
    this.#granted = Math.min(grantedBytes, left * grantedShare);
  }
}

function reached(freeBytes: number, reserved: number): ContentWriteError {
  const inMebibytes = (bytes: number): string => (bytes / mebibyte).toFixed(1);
  return new ContentWriteError(
    `The disk has ${inMebibytes(freeBytes)} MiB left. New content leaves ${inMebibytes(reserved)} ` +
      'MiB of it to deletions and to the next start. Delete blobs, or make room there.',
    { isFull: true },
  );
}
