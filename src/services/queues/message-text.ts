import { asBuffer, type Bytes } from '../../base/bytes.js';
import type { Entry } from '../../kv/store.js';
import { requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { messageTextBytesMax } from './limits.js';

/** The stored form of a text. Throws `RequestBodyTooLarge` when it is too long for a message. */
export function encodeMessageText(text: string): Bytes {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= messageTextBytesMax) return bytes;
  throw requestBodyTooLarge(messageTextBytesMax);
}

/** The stored bytes of texts. */
export function textBytes(texts: readonly (Entry | undefined)[]): number {
  return texts.reduce((sum, text) => sum + (text?.value.length ?? 0), 0);
}

export function decodeMessageText(value: Bytes): string {
  return asBuffer(value).toString('utf8');
}
