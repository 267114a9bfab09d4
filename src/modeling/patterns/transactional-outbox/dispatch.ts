import type { Envelope, TextEncoding } from '../../worker/envelope.js';
import type { MessageHandler } from '../../worker/handler.js';
import { UnknownMessageError } from '../../worker/message-type.js';
import type { QueuePort } from '../../worker/queue-port.js';
import { putEnvelope } from '../../worker/send.js';

/** What is known of a message that is handed on. */
export interface DispatchContext {
  /** Where the message waits: its table and partition, for logs. */
  readonly outbox: string;
  /** Attempts, this one included, that are known of. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/**
 * Hands one message on. It is handed on at least once, perhaps several times, and perhaps twice at
 * the same time, with the same id. When it rejects, the message is tried again later.
 */
export type Dispatch = (envelope: Envelope, context: DispatchContext) => Promise<void>;

/** Puts each message into a queue, for workers there: one put. */
export function toQueue(
  queue: QueuePort | ((envelope: Envelope) => QueuePort),
  { encoding = 'text' }: { readonly encoding?: TextEncoding } = {},
): Dispatch {
  const queueOf = typeof queue === 'function' ? queue : () => queue;
  return async (envelope) => {
    await putEnvelope(queueOf(envelope), envelope, { encoding });
  };
}

/** Handles each message right here, without a queue: the requests of its handler. */
export function toHandlers(handlers: readonly MessageHandler[]): Dispatch {
  const byType = new Map(handlers.map((handler) => [handler.type, handler]));
  return async (envelope, { outbox, attempt, signal }) => {
    const { type, id } = envelope;
    const handler = byType.get(type);
    if (handler === undefined) throw new UnknownMessageError(`no handler for '${type}' ${id}`);
    await handler.run(envelope, { id, queue: outbox, dequeueCount: attempt, signal });
  };
}
