import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import { RenewedLease } from '../table/renewed-lease.js';
import type { QueuePort, ReceivedMessage } from './queue-port.js';

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
 * Keeps a message hidden while it is worked on. Each renewal is one update and brings a new
 * receipt. The signal is aborted when the message may be in other hands.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #term: RenewedLease;
  #receipt: string;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#receipt = options.message.popReceipt;
    this.#term = new RenewedLease({
      ...options,
      what: `message ${options.message.messageId}`,
      termMs: options.visibilitySeconds * 1000,
      renew: () => this.#renew(),
    });
  }

  get signal(): AbortSignal {
    return this.#term.signal;
  }

  get isLost(): boolean {
    return this.#term.isLost;
  }

  /**
   * Stops renewing, and resolves with the newest receipt as soon as no renewal is under way, or the
   * lease is lost.
   */
  async end(): Promise<string> {
    await this.#term.end();
    return this.#receipt;
  }

  async #renew(): Promise<void> {
    const { queue, message, visibilitySeconds } = this.#options;
    const { messageId } = message;
    const updated = await queue.updateMessage(
      messageId,
      this.#receipt,
      undefined,
      visibilitySeconds,
    );
    this.#receipt = updated.popReceipt ?? this.#receipt;
  }
}
