import { messagesInPieces, type RenderedMessage } from '../../wire/xml/queue-messages.js';
import { longXmlReply } from '../operations/replies.js';
import type { Reply } from '../exchange/service.js';
import { countedMessages } from './dequeue-count.js';
import type { QueueRequest } from './request.js';

/** Texts of at most this many characters are rendered at once. */
const charactersAtOnceMax = 64 * 1024;

/** The answer with messages that were dequeued or peeked. */
export function messagesReply(
  messages: readonly (RenderedMessage & { readonly text: string })[],
  { exchange, backend }: QueueRequest,
): Reply | Promise<Reply> {
  const characters = messages.reduce((sum, { text }) => sum + text.length, 0);
  const document = messagesInPieces(countedMessages(messages, exchange.version));
  return longXmlReply(document, characters > charactersAtOnceMax, backend.clock);
}
