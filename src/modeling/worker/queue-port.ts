/**
 * The methods of `QueueClient` of `@azure/storage-queue` that this library calls; a client can be
 * passed directly. Each sends one request, apart from the client's own retries. Declared here, so
 * that programs without queues do not need the package.
 */
export interface QueuePort {
  readonly name: string;
  sendMessage(
    text: string,
    options?: SendOptions,
  ): Promise<{ readonly messageId: string; readonly popReceipt: string }>;
  receiveMessages(options: {
    readonly numberOfMessages: number;
    readonly visibilityTimeout: number;
  }): Promise<{ readonly receivedMessageItems: readonly ReceivedMessage[] }>;
  /** Without a text, the text stays. The new receipt replaces the one given. */
  updateMessage(
    messageId: string,
    popReceipt: string,
    text: string | undefined,
    visibilitySeconds: number,
  ): Promise<{ readonly popReceipt?: string }>;
  deleteMessage(messageId: string, popReceipt: string): Promise<unknown>;
}

/** A queue for sending. */
export type SendingQueue = Pick<QueuePort, 'name' | 'sendMessage'>;

/** The options of a put. */
export interface SendOptions {
  /** Seconds for which the message is hidden. */
  readonly visibilityTimeout?: number;
  /** Seconds; -1: it never expires. */
  readonly messageTimeToLive?: number;
}

/** A message as received. */
export interface ReceivedMessage {
  readonly messageId: string;
  /** Proves that we got the message last; void as soon as another consumer gets it. */
  readonly popReceipt: string;
  readonly messageText: string;
  /** Deliveries, this one included. */
  readonly dequeueCount: number;
  /** When it was put. This time and those below are cut to whole seconds. */
  readonly insertedOn: Date;
  /** When the service deletes it. */
  readonly expiresOn: Date;
  /** When others may get it, unless it is deleted or hidden for longer. */
  readonly nextVisibleOn: Date;
}

/** Messages that one request may get. */
export const messagesPerRequestMax = 32;
/** UTF-8 bytes of a message's text, as the service counts them. */
export const messageTextBytesMax = 65_536;
/** The longest time that a message can be hidden, in seconds: 7 days. */
export const visibilitySecondsMax = 604_800;
/** A time to live that never ends. The service's own default is 7 days. */
export const neverExpires = -1;
