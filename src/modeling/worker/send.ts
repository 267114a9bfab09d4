import { systemRandomness, type Randomness } from '../../base/randomness.js';
import { encodeEnvelope, type Envelope, type TextEncoding } from './envelope.js';
import { envelopeOf, type MessageType } from './message-type.js';
import { neverExpires, type SendingQueue } from './queue-port.js';

/** The options of `sendMessage`. */
export interface SendMessageOptions {
  /**
   * The id of the intent; a new UUID when absent. Set it when the intent has an identity already.
   */
  readonly id?: string;
  /** Seconds, up to 604,800, before a worker gets it. Default 0. */
  readonly delaySeconds?: number;
  /** Default `text`. */
  readonly encoding?: TextEncoding;
  readonly randomness?: Randomness;
}

/**
 * Puts a message for a worker with one request. It never expires. Returns the id of the intent.
 * Throws `ValueError` for a payload that its type refuses and `MessageTooLargeError` beyond about
 * 62 KiB, before anything is sent. A put that is repeated because its response was lost may leave
 * two messages; they have the same id.
 */
export async function sendMessage<Given, Read>(
  queue: SendingQueue,
  message: MessageType<Given, Read>,
  payload: Given,
  options: SendMessageOptions = {},
): Promise<{ readonly id: string }> {
  const id = options.id ?? (options.randomness ?? systemRandomness).uuid();
  await putEnvelope(queue, await envelopeOf(message, payload, id), options);
  return { id };
}

/** Puts an envelope with one request. Throws `MessageTooLargeError`. */
export function putEnvelope(
  queue: SendingQueue,
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
