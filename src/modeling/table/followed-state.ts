import type { Clock } from '../../base/clock.js';
import { sleep } from '../../base/async/sleep.js';
import type { Timers } from '../../base/async/timers.js';

/** When a state was read or written, and what is done with it. */
export interface FollowOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long a state that was read is used, in milliseconds. */
  readonly refreshMs: number;
  /** How long after a change no operation of the state before it can be running any more. */
  readonly settleMs: number;
}

/**
 * A stored state that one program changes step by step and every program follows, such as the phase
 * of a move. Its version counts the changes. What others see is at most `refreshMs` old.
 */
export abstract class FollowedState<T extends { readonly version: number }> {
  readonly #options: FollowOptions;
  #known: { readonly state: T; readonly atMs: number } | undefined;
  #reading: Promise<T> | undefined;
  /** When each version was first seen, on the monotonic clock. */
  readonly #seen = new Map<number, number>();

  protected constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** As it was at most `refreshMs` ago; otherwise one read, shared by concurrent callers. */
  async known(): Promise<T> {
    const { clock, refreshMs } = this.#options;
    const known = this.#known;
    if (known !== undefined && clock.monotonicMs() - known.atMs < refreshMs) return known.state;
    this.#reading ??= this.fresh().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** As of this call. One read. */
  fresh(): Promise<T> {
    return this.noting(() => this.load());
  }

  /** One read. */
  protected abstract load(): Promise<T>;

  /** Remembers what a request that begins now reads or writes. */
  protected async noting<S extends T | undefined>(send: () => Promise<S>): Promise<S> {
    const { clock } = this.#options;
    const atMs = clock.monotonicMs();
    const state = await send();
    if (state === undefined) return state;
    if (!this.#seen.has(state.version)) this.#seen.set(state.version, clock.monotonicMs());
    const known = this.#known;
    if (known === undefined || known.state.version <= state.version) this.#known = { state, atMs };
    return state;
  }

  /** Waits until `settleMs` have passed since this program first saw the version. */
  async settle({ version }: T): Promise<void> {
    const { clock, timers, settleMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const leftMs = (this.#seen.get(version) ?? nowMs) + settleMs - nowMs;
    if (leftMs > 0) await sleep(timers, leftMs);
  }
}
