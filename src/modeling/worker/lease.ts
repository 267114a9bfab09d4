import { once } from 'node:events';
import type { Clock } from '../../base/clock.js';
import type { Timer, Timers } from '../../base/timers.js';
import { ModelError } from '../table/errors.js';
import type { QueuePort, ReceivedMessage } from './queue-port.js';
import { isTransient } from '../table/transient.js';

/** The reason of a handler's aborted signal: the message may be in other hands by now. */
export class LeaseLostError extends ModelError {
  override readonly name = 'LeaseLostError';
}

export interface LeaseOptions {
  readonly queue: QueuePort;
  readonly message: ReceivedMessage;
  /** For how long the message was hidden when it was got. */
  readonly visibilitySeconds: number;
  /** On the monotonic clock, before the request that got the message was sent. */
  readonly grantedAtMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Told after each renewal, with the error of one that failed. */
  readonly onRenewal: (error: unknown) => void;
}

/**
 * Keeps a message hidden while it is worked on.
 *
 * held → lost: when the service refuses the receipt, or when the time for which it was granted ends
 * without a renewal. The signal is aborted then.
 * held → ended: by `end`, after which nothing is sent any more.
 *
 * A term is counted from before its request was sent, so it never seems longer here than it is at
 * the service. It is renewed after half of it, and again after every tenth while that fails
 * transiently. Each renewal is one update and brings a new receipt.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #termMs: number;
  readonly #controller = new AbortController();
  #receipt: string;
  #termEndMs: number;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #ended = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#receipt = options.message.popReceipt;
    this.#termMs = options.visibilitySeconds * 1000;
    this.#termEndMs = options.grantedAtMs + this.#termMs;
    this.#wait(this.#termMs / 2);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isLost(): boolean {
    return this.#controller.signal.aborted;
  }

  /**
   * Stops renewing, and resolves with the newest receipt as soon as no renewal is under way, or the
   * lease is lost.
   */
  async end(): Promise<string> {
    this.#ended = true;
    if (this.#renewing !== undefined && !this.isLost) {
      await Promise.race([this.#renewing, once(this.signal, 'abort')]);
    }
    this.#timer?.close();
    return this.#receipt;
  }

  #wait(delayMs: number): void {
    if (this.#ended || this.isLost) return;
    const leftMs = this.#termEndMs - this.#options.clock.monotonicMs();
    this.#timer = this.#options.timers.start(
      Math.max(0, Math.min(delayMs, leftMs)),
      this.#due,
      undefined,
    );
  }

  readonly #due = (): void => {
    if (this.#options.clock.monotonicMs() >= this.#termEndMs) return this.#lose('its time ran out');
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined));
    // A renewal that hangs must not hide that the term ends.
    this.#wait(Infinity);
  };

  async #renew(): Promise<void> {
    const { queue, message, visibilitySeconds, clock, onRenewal } = this.#options;
    const sentAtMs = clock.monotonicMs();
    try {
      const { messageId } = message;
      const updated = await queue.updateMessage(
        messageId,
        this.#receipt,
        undefined,
        visibilitySeconds,
      );
      this.#receipt = updated.popReceipt ?? this.#receipt;
      this.#termEndMs = sentAtMs + this.#termMs;
      onRenewal(undefined);
      this.#again(this.#termMs / 2);
    } catch (error) {
      onRenewal(error);
      if (isTransient(error)) this.#again(this.#termMs / 10);
      else this.#lose('the service refused to renew it', error);
    }
  }

  #again(delayMs: number): void {
    this.#timer?.close();
    this.#wait(delayMs);
  }

  #lose(why: string, cause?: unknown): void {
    this.#timer?.close();
    const { messageId } = this.#options.message;
    this.#controller.abort(new LeaseLostError(`message ${messageId} was lost: ${why}`, { cause }));
  }
}
