import type { Envelope } from './envelope.js';
import { readPayload, type MessageType } from './message-type.js';

/** What a handler knows of the delivery that it works for. */
export interface HandlerContext {
  /** Of the intent: the same whenever the message comes again. The key of idempotence. */
  readonly id: string;
  /** Where it came from. */
  readonly queue: string;
  /** Deliveries, this one included. More than 1: an earlier one may have done part of the work. */
  readonly dequeueCount: number;
  /**
   * Aborted when the message no longer belongs to this handler, or when the worker waits no longer
   * for it. Check it before each write: somebody else may be at the same work.
   */
  readonly signal: AbortSignal;
}

/** What a worker does with one kind of message. Made by `handle`. */
export interface MessageHandler {
  readonly type: string;
  run(envelope: Envelope, context: HandlerContext): Promise<void>;
}

/**
 * A handler of one kind of message. It runs at least once a message, perhaps several times, perhaps
 * twice at the same time: it must be idempotent. The message is finished when it resolves and comes
 * again later when it rejects.
 */
export function handle<Given, Read>(
  message: MessageType<Given, Read>,
  run: (payload: Read, context: HandlerContext) => Promise<void>,
): MessageHandler {
  return {
    type: message.type,
    run: async (envelope, context) => run(await readPayload(message, envelope), context),
  };
}
