import type { PoisonReason } from './envelope.js';

/** One delivery of one message: the part that all its events have. */
export interface Delivery {
  readonly queue: string;
  readonly messageId: string;
  /** The message's type; undefined when it is malformed. */
  readonly type: string | undefined;
  /** The id of the intent; undefined when the message is malformed. */
  readonly id: string | undefined;
  readonly dequeueCount: number;
  /** Since the message was put into the queue, by this machine's clock. */
  readonly ageMs: number;
  /** Since it was got. */
  readonly durationMs: number;
}

/**
 * Events of a worker. Each delivery ends in one of the first five: `handled`; `failed`, to come
 * again after `delaySeconds`; `poisoned`; `released`, because the worker stops; `lost`, when the
 * message could not be finished: it comes again after its visibility timeout, or is gone for good,
 * without a poisoned copy, when it has expired by then.
 */
export type WorkerEvent =
  | (Delivery & { readonly kind: 'handled' | 'released' })
  | (Delivery & {
      readonly kind: 'failed';
      readonly error: unknown;
      readonly isTransient: boolean;
      readonly delaySeconds: number;
    })
  | (Delivery & {
      readonly kind: 'poisoned';
      readonly reason: PoisonReason;
      readonly error: unknown;
    })
  | (Delivery & { readonly kind: 'lost'; readonly error: unknown })
  /** The message stays hidden for another term; with an error, it does not. */
  | {
      readonly kind: 'renewed';
      readonly queue: string;
      readonly messageId: string;
      readonly error: unknown;
    }
  /** A request of the worker itself failed transiently and is retried. */
  | { readonly kind: 'retried'; readonly queue: string; readonly error: unknown };

/** Called for every event. */
export type WorkerObserver = (event: WorkerEvent) => void;

/** The end of a delivery. */
export type DeliveryEvent = Extract<WorkerEvent, Delivery>;
