import { withoutPoison, type TextEncoding } from './envelope.js';
import { isGone } from './message-refusal.js';
import { messagesPerRequestMax, neverExpires, type QueuePort } from './queue-port.js';

/** The options of `redrive`. */
export interface RedriveOptions {
  /** Maximum messages to move. */
  readonly max: number;
  /** How the texts are sent. Default `text`. */
  readonly encoding?: TextEncoding;
  /** Seconds for which a message is hidden in the poison queue while it is moved. Default 60. */
  readonly visibilitySeconds?: number;
}

/**
 * Moves messages from a poison queue back, to be processed again after the cause is fixed. Sends
 * one get for up to 32 messages, and one put and one delete for each. Notes and counts are removed.
 * A malformed message goes back as its original text; it is poisoned again unless its reader now
 * understands it. A crash leaves a message in both queues, never in none, and so does a move that
 * takes longer than `visibilitySeconds` when another one gets the message meanwhile. Returns the
 * number moved; fewer than `max` means that no more were visible.
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
      await deleteUnlessGone(poison, messageId, popReceipt);
      moved += 1;
    }
  }
  return moved;
}

/** The client repeats a delete whose answer was lost, and is told that the message is gone. */
async function deleteUnlessGone(queue: QueuePort, id: string, receipt: string): Promise<void> {
  try {
    await queue.deleteMessage(id, receipt);
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
