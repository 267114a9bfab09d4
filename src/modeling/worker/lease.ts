import type { Clock } from '../../base/clock.js';
import type { Timers } from '../../base/async/timers.js';
import { LeaseRenewal } from '../table/lease-renewal.js';
import { isBeyondExpiry } from './message-refusal.js';
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

/** Times of messages are cut to whole seconds. */
const shownMs = 1000;

/**
 * Keeps a message hidden while it is processed. Each renewal is one update and gives a new receipt.
 * The signal is aborted when another consumer may have the message.
 *
 * A get hides a message also beyond its expiry: then no other consumer ever gets it, so its lease
 * lasts until it is ended, although the message can soon no longer be deleted. An update does not:
 * near its expiry a message is hidden for as long as it lives, to the second, and the lease ends
 * there.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #term: LeaseRenewal;
  /** Monotonic time before which the message does not expire. */
  readonly #livesUntilMs: number;
  #receipt: string;

  constructor(options: LeaseOptions) {
    const { message, grantedAtMs } = options;
    this.#options = options;
    this.#receipt = message.popReceipt;
    const hiddenMs = options.visibilitySeconds * 1000;
    const beyondMs = message.expiresOn.getTime() - message.nextVisibleOn.getTime();
    this.#livesUntilMs = grantedAtMs + hiddenMs + beyondMs - shownMs;
    this.#term = new LeaseRenewal({
      ...options,
      what: `message ${message.messageId}`,
      termMs: beyondMs < 0 ? Infinity : hiddenMs,
      renew: (endMs) => this.#renew(endMs),
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

  /** Undefined where the message cannot be hidden for at least a second longer than it is. */
  async #renew(endMs: number): Promise<number | undefined> {
    const { queue, message, visibilitySeconds, clock, onRenewal } = this.#options;
    const nowMs = clock.monotonicMs();
    const lifeSeconds = Math.floor((this.#livesUntilMs - nowMs) / 1000);
    const seconds = Math.min(visibilitySeconds, lifeSeconds);
    const gainedMs = nowMs + seconds * 1000 - endMs;
    if (seconds < visibilitySeconds && gainedMs < shownMs) return undefined;
    try {
      const updated = await queue.updateMessage(
        message.messageId,
        this.#receipt,
        undefined,
        seconds,
      );
      this.#receipt = updated.popReceipt ?? this.#receipt;
      return seconds * 1000;
    } catch (error) {
      if (!isBeyondExpiry(error)) throw error;
      onRenewal(error);
      return undefined;
    }
  }
}
