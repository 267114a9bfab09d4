import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import { LeaseRenewal } from '../table/lease-renewal.js';
import type { QueuePort, ReceivedMessage } from './queue-port.js';

export interface LeaseOptions {
  readonly queue: QueuePort;
  readonly message: ReceivedMessage;
  /** How long the message was hidden when it was got. */
  readonly visibilitySeconds: number;
  /** Monotonic time just before the request that got the message was sent. */
  readonly grantedAtMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Called after each renewal, with the error of one that failed. */
  readonly onRenewal: (error: unknown) => void;
}

/**
 * Keeps a message hidden while it is processed. Each renewal is one update and gives a new receipt.
 * The signal is aborted when another consumer may have the message.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #term: LeaseRenewal;
  #receipt: string;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#receipt = options.message.popReceipt;
    this.#term = new LeaseRenewal({
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
   * Stops renewing. Resolves with the newest receipt when no renewal is under way, or the lease is
   * lost.
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
