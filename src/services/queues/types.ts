import type { List } from '../../base/lazy-list.js';
import type { Metadata } from '../../model/resources/metadata.js';

// All times are microseconds since 1970.

export interface QueueInfo {
  readonly name: string;
  readonly metadata: Metadata;
}

export interface QueueStatus extends QueueInfo {
  /** Stored messages that have not expired, visible or not. */
  readonly approximateMessageCount: number;
}

export interface QueueQuery {
  /** Only names that begin with it. */
  readonly prefix?: string;
  /** The first name to return. */
  readonly from?: string;
  readonly limit: number;
}

export interface QueuePage {
  /** Each is made when it is asked for: of metadata there may be much. */
  readonly queues: List<QueueInfo>;
  /** The first name not returned. */
  readonly next?: string;
}

export interface NewMessage {
  readonly text: string;
  /** How long it stays invisible at first; less than it lives. */
  readonly visibilitySeconds: number;
  /** At least 1; `Infinity` for a message that never expires. */
  readonly timeToLiveSeconds: number;
}

export interface PeekedMessage {
  /** A GUID in lower case. */
  readonly id: string;
  readonly insertedMicros: number;
  readonly expiresMicros: number;
  /** How often it has been handed out. */
  readonly dequeueCount: number;
  readonly text: string;
}

export interface DequeuedMessage extends PeekedMessage {
  /** What an update or a deletion has to present. */
  readonly popReceipt: string;
  readonly nextVisibleMicros: number;
}

export type PutReceipt = Omit<DequeuedMessage, 'dequeueCount' | 'text'>;

export interface Dequeue {
  /** Messages wanted, 1 to 32. */
  readonly count: number;
  /** How long each stays invisible to others, 1 to 604,800. */
  readonly visibilitySeconds: number;
}

export interface HeldMessage {
  readonly id: string;
  readonly popReceipt: string;
}

export interface MessageChange extends HeldMessage {
  /** From now, 0 to 604,800. */
  readonly visibilitySeconds: number;
  /** The text stays when it is absent. */
  readonly text?: string;
}

export type Renewal = Pick<DequeuedMessage, 'popReceipt' | 'nextVisibleMicros'>;
