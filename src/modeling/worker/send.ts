import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { encodeEnvelope, type Envelope, type TextEncoding } from './envelope.js';
import { envelopeOf, type MessageType } from './message-type.js';
import { neverExpires, type QueuePort } from './queue-port.js';

/** How a message is put. */
export interface SendMessageOptions {
  /** Of the intent; a fresh UUID when absent. Give it when the intent has an identity already. */
  readonly id?: string;
  /** Seconds, up to 604,800, before a worker gets it. Default 0. */
  readonly delaySeconds?: number;
  /** Default `text`. */
  readonly encoding?: TextEncoding;
  readonly randomness?: Randomness;
}

/**
 * Puts a message for a worker: one put. It never expires. Resolves with the id of the intent.
 * Throws `ValueError` for a payload that its type refuses and `MessageTooLargeError` beyond about
 * 62 KiB, before anything is sent. A put that was repeated without an answer may leave two
 * messages; they have the same id.
 */
export async function sendMessage<Given, Read>(
  queue: QueuePort,
  message: MessageType<Given, Read>,
  payload: Given,
  options: SendMessageOptions = {},
): Promise<{ readonly id: string }> {
  const id = options.id ?? (options.randomness ?? systemRandomness).uuid();
  await putEnvelope(queue, await envelopeOf(message, payload, id), options);
  return { id };
}

/** Puts an envelope as it is: one put. Throws `MessageTooLargeError`. */
export function putEnvelope(
  queue: QueuePort,
  envelope: Envelope,
  {
    encoding = 'text',
    delaySeconds = 0,
  }: Pick<SendMessageOptions, 'encoding' | 'delaySeconds'> = {},
): Promise<{ readonly messageId: string; readonly popReceipt: string }> {
  const text = encodeEnvelope(envelope, encoding);
  return queue.sendMessage(text, {
    messageTimeToLive: neverExpires,
    ...(delaySeconds === 0 ? {} : { visibilityTimeout: delaySeconds }),
  });
}
