import { refused, type Refusal } from './refusal.js';

// Service Bus: which messages of a queue or topic share a partition. The hash of the service is not
// published, so the result is the text that pins a message, never the number of a partition.

export interface BusMessage {
  readonly sessionId?: string | undefined;
  readonly partitionKey?: string | undefined;
  readonly messageId?: string | undefined;
}

/** The queue or topic. */
export interface BusEntity {
  readonly isPartitioned: boolean;
  readonly detectsDuplicates: boolean;
}

/**
 * `pinned`: all messages with this key share a partition, and sending fails while that is down.
 * `free`: the service takes one partition after the other, and another one if that is down.
 * `unpartitioned`: there is one partition.
 */
export type BusPin =
  | {
      readonly kind: 'pinned';
      readonly key: string;
      readonly by: 'sessionId' | 'partitionKey' | 'messageId';
    }
  | { readonly kind: 'free' }
  | { readonly kind: 'unpartitioned' }
  | Refusal;

/**
 * The text that pins a message: its session, else its partition key, else its id where duplicates
 * are found.
 */
export function busPin(message: BusMessage, entity: BusEntity): BusPin {
  const { sessionId, partitionKey, messageId } = message;
  if (sessionId !== undefined && partitionKey !== undefined && sessionId !== partitionKey) {
    const what = `the session '${sessionId}' and the partition key '${partitionKey}' differ`;
    return refused('conflicting-keys', `${what}; give the same text, or the session alone`);
  }
  if (!entity.isPartitioned) return Object.freeze({ kind: 'unpartitioned' });
  if (sessionId !== undefined) return pinned(sessionId, 'sessionId');
  if (partitionKey !== undefined) return pinned(partitionKey, 'partitionKey');
  if (!entity.detectsDuplicates) return Object.freeze({ kind: 'free' });
  if (messageId !== undefined) return pinned(messageId, 'messageId');
  return refused('bad-key', 'duplicates are found by message id; give the message one');
}

function pinned(key: string, by: 'sessionId' | 'partitionKey' | 'messageId'): BusPin {
  return Object.freeze({ kind: 'pinned', key, by });
}

/**
 * The text that pins the messages that one transaction sends to one queue or topic. In a
 * partitioned one all of them must be pinned by the same key, and belong to one session at most.
 */
export function busTransactionPin(messages: readonly BusMessage[], entity: BusEntity): BusPin {
  const [first] = messages;
  if (first === undefined) return refused('bad-count', 'a transaction sends at least one message');
  const sessions = new Set(messages.map(({ sessionId }) => sessionId).filter(isGiven));
  if (sessions.size > 1) {
    const what = `a transaction sends to ${sessions.size} sessions`;
    return refused('different-places', `${what}; send those of one session in each`);
  }
  const pins = messages.map((message) => busPin(message, entity));
  const refusal = pins.find(({ kind }) => kind === 'refused');
  if (refusal !== undefined) return refusal;
  const one = busPin(first, entity);
  if (!entity.isPartitioned) return one;
  const free = pins.findIndex(({ kind }) => kind !== 'pinned');
  if (free >= 0) {
    return refused('bad-key', `message ${free + 1} of the transaction has no key; give it one`);
  }
  const keys = new Set(pins.map((found) => (found.kind === 'pinned' ? found.key : '')));
  if (keys.size === 1) return one;
  const what = `a transaction has ${keys.size} partition keys`;
  return refused('different-places', `${what}; give all messages the same one`);
}

function isGiven(text: string | undefined): text is string {
  return text !== undefined;
}
