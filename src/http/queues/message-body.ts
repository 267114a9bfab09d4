import { requestBodyTooLarge } from '../../model/errors/query-errors.js';
import { parseMessageText } from '../../wire/xml/queue-messages.js';
import { messageTextBytesMax } from '../../services/queues/limits.js';
import type { Exchange } from '../exchange/exchange.js';
import { messageVersions } from './versions.js';

/**
 * The longest body of a put or an update; escaped text is longer than the message (queue-service
 * §3.5).
 */
export const messageBodyBytesMax = 131_584;

const textBytesMaxBefore2011 = 8 * 1024;

/** The text in the body of a put or an update; throws when it is too long (queue-service §8.1). */
export function messageTextOf({ body, version }: Exchange): string {
  const bytesMax = version < messageVersions.update ? textBytesMaxBefore2011 : messageTextBytesMax;
  const text = parseMessageText(body);
  // A text is never longer than its document.
  if (body.length > bytesMax && Buffer.byteLength(text) > bytesMax) {
    throw requestBodyTooLarge(bytesMax);
  }
  return text;
}
