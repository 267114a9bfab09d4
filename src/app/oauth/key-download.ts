import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';
import type { Timers } from '../../base/async/timers.js';
import { keyBytesMax, type ReadKeys } from './key-files.js';
import { KeySetError } from './key-set.js';

const answerTimeoutMs = 5_000;

/** Keys of a URL. The whole answer must arrive within five seconds; redirects are refused. */
export function keysOfUrl(url: URL, timers: Timers): ReadKeys {
  return async (mark, closing) => {
    const text = await download(url, timers, closing);
    return text === mark ? undefined : { mark: text, text };
  };
}

/**
 * Downloads a text. On timeout its connection is closed and the promise settles, whatever the peer
 * does; it does not depend on objects that may be garbage collected.
 */
function download(url: URL, timers: Timers, closing: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const get = url.protocol === 'https:' ? getSecure : getPlain;
    const request = get(url, {
      agent: false,
      headers: { Accept: 'application/json', Connection: 'close' },
    });
    const end = (settle: () => void): void => {
      timer.close();
      closing.removeEventListener('abort', closed);
      settle();
      request.destroy();
    };
    const fail = (error: Error): void => end(() => reject(error));
    const closed = (): void => fail(new KeySetError('the server stops'));
    const timedOut = (): void => fail(new KeySetError(timedOutText));
    const timer = timers.start(answerTimeoutMs, timedOut, undefined);
    closing.addEventListener('abort', closed);
    // A finished request may still emit an error.
    request.on('error', fail);
    request.on('response', (response) => {
      response.on('error', fail);
      collect(response, { take: (text) => end(() => resolve(text)), fail });
    });
    if (closing.aborted) closed();
  });
}

const timedOutText = `it has not answered in full within ${answerTimeoutMs} ms`;

function collect(
  response: IncomingMessage,
  { take, fail }: { readonly take: (text: string) => void; readonly fail: (error: Error) => void },
): void {
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299)
    return fail(new KeySetError(`it answers ${statusCode}`));
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > keyBytesMax) fail(new KeySetError(`it is larger than ${keyBytesMax} bytes`));
    else chunks.push(chunk);
  });
  response.on('end', () => take(Buffer.concat(chunks).toString('utf8')));
}
