import { withoutPoison, type TextEncoding } from './envelope.js';
import { messagesPerRequestMax, neverExpires, type QueuePort } from './queue-port.js';

/** How much is moved back. */
export interface RedriveOptions {
  /** Messages to move at most. */
  readonly max: number;
  /** How the texts are sent. Default `text`. */
  readonly encoding?: TextEncoding;
  /** Seconds for which a message is hidden in the poison queue while it is moved. Default 60. */
  readonly visibilitySeconds?: number;
}

/**
 * Moves messages from a poison queue back to be tried again, after what was wrong has been mended:
 * one get for up to 32, one put and one delete a message. Notes and counts are taken off. What was
 * malformed goes back as the text it was, to be poisoned again unless its reader has learnt it. A
 * crash leaves a message in both queues, never in none. Resolves with how many were moved; fewer
 * than `max`: no more were visible.
 */
export async function redrive(
  poison: QueuePort,
  queue: QueuePort,
  { max, encoding = 'text', visibilitySeconds = 60 }: RedriveOptions,
): Promise<number> {
  let moved = 0;
  while (moved < max) {
    const { receivedMessageItems: messages } = await poison.receiveMessages({
      numberOfMessages: Math.min(max - moved, messagesPerRequestMax),
      visibilityTimeout: visibilitySeconds,
    });
    if (messages.length === 0) break;
    for (const { messageId, popReceipt, messageText } of messages) {
      await queue.sendMessage(withoutPoison(messageText, encoding), {
        messageTimeToLive: neverExpires,
      });
      await poison.deleteMessage(messageId, popReceipt);
      moved += 1;
    }
  }
  return moved;
}
