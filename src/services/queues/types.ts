import type { List } from '../../base/lazy-list.js';
import type { Metadata } from '../../model/resources/metadata.js';

// All times are microseconds since 1970.

export interface QueueInfo {
  readonly name: string;
  readonly metadata: Metadata;
}

export interface QueueStatus extends QueueInfo {
  /** The number of stored, unexpired messages, visible or not. */
  readonly approximateMessageCount: number;
}

export interface QueueQuery {
  /** Lists only names with this prefix. */
  readonly prefix?: string;
  /** The position to continue from: the first name to return. */
  readonly from?: string;
  readonly limit: number;
}

export interface QueuePage {
  /** Decoded on access: metadata may be large. */
  readonly queues: List<QueueInfo>;
  /** The first name of the next page. */
  readonly next?: string;
}

export interface NewMessage {
  readonly text: string;
  /** The initial invisibility; less than the time to live. */
  readonly visibilitySeconds: number;
  /** At least 1; `Infinity`: the message never expires. */
  readonly timeToLiveSeconds: number;
}

export interface PeekedMessage {
  /** A GUID in lower case. */
  readonly id: string;
  readonly insertedMicros: number;
  readonly expiresMicros: number;
  /** How often the message was dequeued. */
  readonly dequeueCount: number;
  readonly text: string;
}

export interface DequeuedMessage extends PeekedMessage {
  /** The receipt that an update or a delete must present. */
  readonly popReceipt: string;
  readonly nextVisibleMicros: number;
}

export type PutReceipt = Omit<DequeuedMessage, 'dequeueCount' | 'text'>;

export interface Dequeue {
  /** The number of messages, 1 to 32. */
  readonly count: number;
  /** The visibility timeout, 1 to 604,800. */
  readonly visibilitySeconds: number;
}

export interface HeldMessage {
  readonly id: string;
  readonly popReceipt: string;
}

export interface MessageChange extends HeldMessage {
  /** From now, 0 to 604,800. */
  readonly visibilitySeconds: number;
  /** Absent: the text is unchanged. */
  readonly text?: string;
}

export type Renewal = Pick<DequeuedMessage, 'popReceipt' | 'nextVisibleMicros'>;
