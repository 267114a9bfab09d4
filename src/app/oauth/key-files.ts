import { openRegularFile, readWhole } from '../../base/regular-file.js';
import { stampOf } from '../../base/file-stamp.js';

/** The text of a set of keys, and a mark that changes when the text may have. */
export interface KeyText {
  readonly mark: string;
  readonly text: string;
}

/**
 * Reads keys from where they are kept; undefined when nothing has changed since `mark`. Rejects soon
 * when the signal aborts.
 */
export type ReadKeys = (
  mark: string | undefined,
  closing: AbortSignal,
) => Promise<KeyText | undefined>;

/** A set of a hundred keys of 8,192 bits is smaller. */
export const keyBytesMax = 256 * 1024;

/** Keys of a file, which is read again when its size, its time or the file itself is another. */
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
