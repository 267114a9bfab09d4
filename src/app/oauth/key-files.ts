import { openRegularFile, readWhole } from '../../base/regular-file.js';
import type { Timers } from '../../base/timers.js';
import { stampOf } from '../file-stamp.js';
import { KeySetError } from './key-set.js';

/** The text of a set of keys, and a mark that changes when the text may have. */
export interface KeyText {
  readonly mark: string;
  readonly text: string;
}

/** Reads keys from where they are kept; undefined when nothing has changed since `mark`. */
export type ReadKeys = (mark: string | undefined) => Promise<KeyText | undefined>;

/** A set of a hundred keys of 8,192 bits is smaller. */
export const keyBytesMax = 256 * 1024;

const tooLarge = `it is larger than ${keyBytesMax} bytes`;

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

const answerTimeoutMs = 5_000;

/** Keys of a URL. The whole answer must have come within five seconds; redirects are refused. */
export function keysOfUrl(url: URL, timers: Timers): ReadKeys {
  return async (mark) => {
    const abort = new AbortController();
    const timer = timers.start(answerTimeoutMs, () => abort.abort(timedOut()), undefined);
    try {
      const headers = { Accept: 'application/json' };
      const response = await fetch(url, { signal: abort.signal, redirect: 'error', headers });
      if (!response.ok) throw new KeySetError(`it answers ${response.status}`);
      const text = await boundedText(response);
      return text === mark ? undefined : { mark: text, text };
    } finally {
      timer.close();
      abort.abort();
    }
  };
}

function timedOut(): KeySetError {
  return new KeySetError(`it has not answered in full within ${answerTimeoutMs} ms`);
}

async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > keyBytesMax) throw new KeySetError(tooLarge);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
