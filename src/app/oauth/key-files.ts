import { openRegularFile, readWhole } from '../../base/regular-file.js';
import { stampOf } from '../../base/file-stamp.js';

/** The text of a key set, and a stamp that changes with it. */
export interface KeyText {
  readonly mark: string;
  readonly text: string;
}

/**
 * Reads keys from their source; undefined when nothing has changed since `mark`. Rejects soon when
 * the signal aborts.
 */
export type ReadKeys = (
  mark: string | undefined,
  closing: AbortSignal,
) => Promise<KeyText | undefined>;

/** Enough for a hundred keys of 8,192 bits. */
export const keyBytesMax = 256 * 1024;

/** Keys of a file, which is reread when its size, its time or the file itself has changed. */
export function keysOfFile(path: string): ReadKeys {
  return async (mark) => {
    const file = await openRegularFile(path);
    try {
      const found = stampOf(file.stats);
      if (found === mark) return undefined;
      return { mark: found, text: (await readWhole(file, keyBytesMax)).toString('utf8') };
    } finally {
      await file.handle.close();
    }
  };
}
