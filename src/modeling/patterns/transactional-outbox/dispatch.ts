import { hasRoom, type Envelope, type TextEncoding } from '../../worker/envelope.js';
import type { MessageHandler } from '../../worker/handler.js';
import { UnknownMessageError } from '../../worker/message-type.js';
import type { SendingQueue } from '../../worker/queue-port.js';
import { putEnvelope } from '../../worker/send.js';

/** The circumstances of a dispatch. */
export interface DispatchContext {
  /** The table and partition of the message, for logs. */
  readonly outbox: string;
  /** Known attempts, this one included. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/**
 * Dispatches one message. It runs at least once for each message, perhaps several times and perhaps
 * concurrently, with the same id. When it rejects, the message is retried later.
 */
export interface Dispatch {
  (envelope: Envelope, context: DispatchContext): Promise<void>;
  /** Whether it knows messages of a type; all types when absent. */
  readonly knows?: (type: string) => boolean;
}

/**
 * Puts each message into a queue, for its workers: one put. A message that is too large for a queue
 * in `base64` goes as `text`, which workers read as well: an outbox takes up to a third more.
 */
export function toQueue(
  queue: SendingQueue | ((envelope: Envelope) => SendingQueue),
  { encoding = 'text' }: { readonly encoding?: TextEncoding } = {},
): Dispatch {
  const queueOf = typeof queue === 'function' ? queue : () => queue;
  return async (envelope) => {
    const fitting = hasRoom(envelope, encoding) ? encoding : 'text';
    await putEnvelope(queueOf(envelope), envelope, { encoding: fitting });
  };
}

/** Handles each message in this process, without a queue: the requests of its handler. */
export function toHandlers(handlers: readonly MessageHandler[]): Dispatch {
  const byType = new Map(handlers.map((handler) => [handler.type, handler]));
  const dispatch: Dispatch = async (envelope, { outbox, attempt, signal }) => {
    const { type, id } = envelope;
    const handler = byType.get(type);
    if (handler === undefined) throw new UnknownMessageError(`no handler for '${type}' ${id}`);
    await handler.run(envelope, { id, queue: outbox, dequeueCount: attempt, signal });
  };
  return Object.assign(dispatch, { knows: (type: string) => byType.has(type) });
}
