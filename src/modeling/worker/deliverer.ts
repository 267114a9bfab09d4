import type { Clock } from '../../base/clock.js';
import type { Randomness } from '../../base/randomness.js';
import type { Timers } from '../../base/async/timers.js';
import { backOff, type BackOff } from '../../base/async/back-off.js';
import { followingSignal } from '../../base/async/following-signal.js';
import { messageOf } from '../../base/thrown.js';
import {
  decodeEnvelope,
  withUncounted,
  poisonText,
  postpone,
  type Envelope,
  type PoisonReason,
  type TextEncoding,
} from './envelope.js';
import type { MessageHandler } from './handler.js';
import { Lease } from './lease.js';
import { isBeyondExpiry, isGone } from './message-refusal.js';
import { MalformedMessageError, UnknownMessageError } from './message-type.js';
import {
  neverExpires,
  visibilitySecondsMax,
  type QueuePort,
  type ReceivedMessage,
} from './queue-port.js';
import { isTransient, retryTransient, type Retries } from '../table/transient.js';
import type { Delivery, DeliveryEvent, WorkerObserver } from './worker-event.js';

/** A queue, and the queue for its poison messages. */
export interface QueueSource {
  readonly queue: QueuePort;
  readonly poison: QueuePort;
}

export interface DelivererSettings {
  readonly source: QueueSource;
  readonly handlers: ReadonlyMap<string, MessageHandler>;
  readonly encoding: TextEncoding;
  readonly visibilitySeconds: number;
  readonly dequeueMax: number;
  readonly transientMax: number;
  readonly failureBackOffSeconds: BackOff;
  readonly requestRetries: Pick<Retries, 'attemptsMax' | 'backOffMs'>;
  /** Aborted when the worker no longer waits for handlers. */
  readonly abandon: AbortSignal;
  readonly observe: WorkerObserver;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly randomness: Randomness;
}

interface Received {
  readonly message: ReceivedMessage;
  readonly envelope: Envelope | undefined;
  readonly startedMs: number;
}

type Outcome = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: unknown };

/**
 * Carries each message of one queue from its receipt to its end:
 *
 * - received → poisoned, when it is malformed, or when more deliveries than allowed began before
 *   and none of them ended.
 * - received → failed, hidden for the back-off and never poisoned, while only another program knows
 *   its type or its version.
 * - received → handling, under a lease that is renewed → finished (deleted), failed (hidden for the
 *   back-off), poisoned (too many failures), released (the worker stops) or lost.
 *
 * A message leaves the queue only after its handler has resolved or its poisoned copy is stored:
 * after a crash it comes again, and it is never lost.
 */
export class Deliverer {
  readonly #settings: DelivererSettings;

  constructor(settings: DelivererSettings) {
    this.#settings = settings;
  }

  /**
   * Rejects only when the service refuses the worker's own requests and a retry cannot help: the
   * poison queue is missing, or the credential may not delete.
   */
  async deliver(message: ReceivedMessage, grantedAtMs: number): Promise<DeliveryEvent> {
    const { dequeueMax, clock } = this.#settings;
    const decoded = decodeEnvelope(message.messageText);
    const startedMs = clock.monotonicMs();
    if (decoded.kind === 'malformed') {
      const error = new MalformedMessageError(`malformed: ${decoded.reason}`);
      const received = { message, envelope: undefined, startedMs };
      return this.#poison(received, message.popReceipt, 'malformed', error);
    }
    const { envelope } = decoded;
    const received = { message, envelope, startedMs };
    const isKnown = this.#settings.handlers.has(envelope.type);
    if (isKnown && this.#counted(message, envelope) > dequeueMax) {
      const error = new Error(`${message.dequeueCount} deliveries, none of which came to an end`);
      return this.#poison(received, message.popReceipt, 'failed', error);
    }
    const lease = this.#leaseOf(message, grantedAtMs);
    const outcome = await this.#handle(envelope, message, lease);
    const receipt = await lease.end();
    if (lease.isLost) return this.#lost(received, lease.signal.reason);
    return outcome.kind === 'done'
      ? this.#finish(received, receipt)
      : this.#fail(received, envelope, receipt, outcome.error);
  }

  /** Deliveries that count towards `dequeueMax`. */
  #counted({ dequeueCount }: ReceivedMessage, { uncounted, postponed = 0 }: Envelope): number {
    return dequeueCount - postponed - Math.min(uncounted, this.#settings.transientMax);
  }

  #leaseOf(message: ReceivedMessage, grantedAtMs: number): Lease {
    const { source, visibilitySeconds, observe, clock, timers } = this.#settings;
    const { queue } = source;
    const { messageId } = message;
    const onRenewal = (error: unknown) =>
      observe({ kind: 'renewed', queue: queue.name, messageId, error });
    return new Lease({ queue, message, visibilitySeconds, grantedAtMs, clock, timers, onRenewal });
  }

  async #handle(envelope: Envelope, message: ReceivedMessage, lease: Lease): Promise<Outcome> {
    const { handlers, source, abandon } = this.#settings;
    const { type, id } = envelope;
    const handler = handlers.get(type);
    if (handler === undefined) {
      const known = [...handlers.keys()].join(', ');
      const why = `no handler for '${type}' ${id}; this worker has ${known}`;
      return { kind: 'failed', error: new UnknownMessageError(why) };
    }
    // A handler that is told to stop keeps the rest of its term, without renewal.
    const endLease = () => void lease.end();
    abandon.addEventListener('abort', endLease, { once: true });
    const { signal, release } = followingSignal(lease.signal, abandon);
    try {
      const { dequeueCount } = message;
      await handler.run(envelope, { id, queue: source.queue.name, dequeueCount, signal });
      return { kind: 'done' };
    } catch (error) {
      return { kind: 'failed', error };
    } finally {
      release();
      abandon.removeEventListener('abort', endLease);
    }
  }

  async #finish(received: Received, receipt: string): Promise<DeliveryEvent> {
    const error = await this.#delete(received.message, receipt);
    if (error !== undefined) return this.#lost(received, error);
    return { kind: 'handled', ...this.#delivery(received) };
  }

  async #fail(
    received: Received,
    envelope: Envelope,
    receipt: string,
    error: unknown,
  ): Promise<DeliveryEvent> {
    const { abandon, dequeueMax, transientMax, encoding, failureBackOffSeconds } = this.#settings;
    const { message } = received;
    const uncounted = withUncounted(envelope, message.messageText, encoding);
    if (abandon.aborted) {
      const refused = await this.#hide(message, receipt, uncounted, 0);
      if (refused !== undefined) return this.#lost(received, refused);
      return { kind: 'released', ...this.#delivery(received) };
    }
    if (error instanceof MalformedMessageError) {
      return this.#poison(received, receipt, 'malformed', error);
    }
    const isUnknown = error instanceof UnknownMessageError;
    const passes = isTransient(error) && envelope.uncounted < transientMax;
    if (!isUnknown && !passes && this.#counted(message, envelope) >= dequeueMax) {
      return this.#poison(received, receipt, 'failed', error);
    }
    const postponed = isUnknown ? postpone(envelope, message.messageText, encoding) : undefined;
    const wait = backOff(failureBackOffSeconds, message.dequeueCount, this.#settings.randomness);
    const delaySeconds = Math.min(Math.ceil(wait), visibilitySecondsMax);
    const text = passes ? uncounted : postponed;
    const refused = await this.#hide(message, receipt, text, delaySeconds);
    if (refused !== undefined) return this.#lost(received, error);
    const failure = { error, isTransient: passes, delaySeconds };
    return { kind: 'failed', ...this.#delivery(received), ...failure };
  }

  /**
   * Stores the copy before deleting the message: a crash in between leaves both. An expired message
   * is not copied, because the copy would outlive it.
   */
  async #poison(
    received: Received,
    receipt: string,
    reason: PoisonReason,
    error: unknown,
  ): Promise<DeliveryEvent> {
    const { source, encoding } = this.#settings;
    const { message, envelope } = received;
    if (this.#isOver(received)) return this.#lost(received, error);
    const note = {
      reason,
      error: messageOf(error),
      queue: source.queue.name,
      deliveries: message.dequeueCount,
    };
    const text = poisonText({ text: message.messageText, envelope }, note, encoding);
    const refused =
      (await this.#attempt(() =>
        source.poison.sendMessage(text, { messageTimeToLive: neverExpires }),
      )) ?? (await this.#delete(message, receipt));
    if (refused !== undefined) return this.#lost(received, refused);
    return { kind: 'poisoned', ...this.#delivery(received), reason, error };
  }

  /** Whether the message has expired for certain: its times are cut to whole seconds. */
  #isOver({ message, startedMs }: Received): boolean {
    const { visibilitySeconds, clock } = this.#settings;
    const beyondMs = message.expiresOn.getTime() - message.nextVisibleOn.getTime();
    const lifeMs = (visibilitySeconds + 1) * 1000 + beyondMs;
    return clock.monotonicMs() - startedMs > lifeMs;
  }

  /** The error, unless the message was deleted. */
  #delete({ messageId }: ReceivedMessage, receipt: string): Promise<unknown> {
    const { queue } = this.#settings.source;
    return this.#attempt(() => queue.deleteMessage(messageId, receipt));
  }

  /**
   * The error, unless the message is hidden for this time. A message that expires earlier is not
   * hidden again: it stays hidden for the rest of its visibility timeout.
   */
  async #hide(
    { messageId }: ReceivedMessage,
    receipt: string,
    text: string | undefined,
    delaySeconds: number,
  ): Promise<unknown> {
    const { queue } = this.#settings.source;
    try {
      return await this.#attempt(() => queue.updateMessage(messageId, receipt, text, delaySeconds));
    } catch (error) {
      if (isBeyondExpiry(error)) return error;
      throw error;
    }
  }

  /** The error when the message is no longer ours, or when retries did not help. */
  async #attempt(send: () => Promise<unknown>): Promise<unknown> {
    const { source, requestRetries, observe, timers, randomness } = this.#settings;
    const onRetry = (error: unknown) =>
      observe({ kind: 'retried', queue: source.queue.name, error });
    try {
      await retryTransient({ ...requestRetries, timers, randomness, onRetry }, async (again) => {
        try {
          await send();
        } catch (error) {
          // An earlier attempt that was applied without a response has voided the receipt, too.
          if (!(again && isGone(error))) throw error;
        }
      });
      return undefined;
    } catch (error) {
      if (isGone(error) || isTransient(error)) return error;
      throw error;
    }
  }

  #lost(received: Received, error: unknown): DeliveryEvent {
    return { kind: 'lost', ...this.#delivery(received), error };
  }

  #delivery({ message, envelope, startedMs }: Received): Delivery {
    const { source, clock } = this.#settings;
    const { messageId, dequeueCount, insertedOn } = message;
    return {
      queue: source.queue.name,
      messageId,
      type: envelope?.type,
      id: envelope?.id,
      dequeueCount,
      ageMs: Math.max(0, clock.nowMicros() / 1000 - insertedOn.getTime()),
      durationMs: clock.monotonicMs() - startedMs,
    };
  }
}
