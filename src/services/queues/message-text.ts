import { asBuffer, type Bytes } from '../../base/bytes.js';
import type { Entry } from '../../kv/store.js';
import { requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { messageTextBytesMax } from './limits.js';

/** A text as it is stored. Throws `RequestBodyTooLarge` when it is longer than a message may be. */
export function encodeMessageText(text: string): Bytes {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= messageTextBytesMax) return bytes;
  throw requestBodyTooLarge(messageTextBytesMax);
}

/** What texts take as they are stored. */
export function textBytes(texts: readonly (Entry | undefined)[]): number {
  return texts.reduce((sum, text) => sum + (text?.value.length ?? 0), 0);
}

export function decodeMessageText(value: Bytes): string {
  return asBuffer(value).toString('utf8');
}
