import { once } from 'node:events';
import type { Clock } from '../../base/clock.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import { LeaseLostError } from './errors.js';
import { isTransient } from './transient.js';

export interface LeaseRenewalOptions {
  /** The name of the leased message or row, for the error about its loss. */
  readonly what: string;
  /** The duration of the first grant. Infinite: no other holder can ever get the lease. */
  readonly termMs: number;
  /** Monotonic time just before the granted request was sent. */
  readonly grantedAtMs: number;
  readonly clock: Clock;
  readonly timers: Timers;
  /**
   * Requests another term and resolves with its duration; undefined when no term can end later than
   * the present one, which ends at `endMs` in monotonic time. A rejection that is not transient
   * ends the lease.
   */
  readonly renew: (endMs: number) => Promise<number | undefined>;
  /** Called after each renewal, with the error of one that failed. */
  readonly onRenewal?: (error: unknown) => void;
}

/**
 * Keeps a lease, such as that of a hidden message, by renewing it.
 *
 * - held → lost: a renewal is refused, or the term ends without one. The signal is then aborted
 *   with a `LeaseLostError`.
 * - held → ended: by `end`, after which nothing is sent.
 *
 * A term counts from before its request was sent, so it ends no later here than at the service. It
 * is renewed after half of it, and again after every tenth while that fails transiently. The last
 * one is held to its end.
 */
export class LeaseRenewal {
  readonly #options: LeaseRenewalOptions;
  readonly #controller = new AbortController();
  #termEndMs: number;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #ended = false;

  constructor(options: LeaseRenewalOptions) {
    this.#options = options;
    this.#termEndMs = options.grantedAtMs + options.termMs;
    this.#wait(options.termMs / 2);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isLost(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Stops renewing. Resolves when no renewal is under way, or the lease is lost. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#renewing !== undefined && !this.isLost) {
      await Promise.race([this.#renewing, once(this.signal, 'abort')]);
    }
    this.#timer?.close();
  }

  #wait(delayMs: number): void {
    if (this.#ended || this.isLost) return;
    const leftMs = this.#termEndMs - this.#options.clock.monotonicMs();
    if (leftMs === Infinity) return;
    this.#timer = this.#options.timers.start(
      Math.max(0, Math.min(delayMs, leftMs)),
      this.#due,
      undefined,
    );
  }

  readonly #due = (): void => {
    if (this.#options.clock.monotonicMs() >= this.#termEndMs) return this.#lose('its time ran out');
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined));
    // A renewal that hangs must not delay the end of the term.
    this.#wait(Infinity);
  };

  async #renew(): Promise<void> {
    const { clock, renew, termMs, onRenewal } = this.#options;
    const sentAtMs = clock.monotonicMs();
    try {
      const grantedMs = await renew(this.#termEndMs);
      if (grantedMs === undefined) return;
      this.#termEndMs = sentAtMs + grantedMs;
      onRenewal?.(undefined);
      this.#again(grantedMs / 2);
    } catch (error) {
      onRenewal?.(error);
      if (isTransient(error)) this.#again(termMs / 10);
      else this.#lose('the service refused to renew it', error);
    }
  }

  #again(delayMs: number): void {
    this.#timer?.close();
    this.#wait(delayMs);
  }

  #lose(why: string, cause?: unknown): void {
    this.#timer?.close();
    const text = `${this.#options.what} was lost: ${why}`;
    this.#controller.abort(new LeaseLostError(text, cause === undefined ? {} : { cause }));
  }
}
