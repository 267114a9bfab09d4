import type { Envelope } from './envelope.js';
import { readPayload, type MessageType } from './message-type.js';

/** The delivery that a handler works on. */
export interface HandlerContext {
  /** The id of the intent, the same in every delivery of the message: the key of idempotence. */
  readonly id: string;
  /** The queue that the message came from. */
  readonly queue: string;
  /** Deliveries, this one included. More than 1: an earlier one may have done part of the work. */
  readonly dequeueCount: number;
  /**
   * Aborted when the message no longer belongs to this handler, or when the worker no longer waits
   * for it. Check it before each write: another worker may be doing the same work.
   */
  readonly signal: AbortSignal;
}

/** Processes one kind of message. Made by `handle`. */
export interface MessageHandler {
  readonly type: string;
  run(envelope: Envelope, context: HandlerContext): Promise<void>;
}

/**
 * A handler of one kind of message. It runs at least once for each message, perhaps several times,
 * perhaps concurrently: it must be idempotent. When it resolves, the message is finished; when it
 * rejects, the message comes again later.
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
