import type { Timer, Timers } from '../../../base/async/timers.js';

/** How often a worker is pinged, and how many pings in a row it may miss. */
export const pulseEveryMs = 5_000;
export const missedPulsesMax = 6;

export interface HeartbeatOptions {
  readonly timers: Timers;
  /** Sends a ping. */
  readonly ask: () => void;
  /** Called once when the worker has missed too many pings; no further pings are sent. */
  readonly lost: () => void;
}

/**
 * Detects a process that no longer answers, such as one in an endless loop. Time is counted in
 * pings that this process has sent: when the machine was suspended, or this process was stopped,
 * nothing was missed.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #missed = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  /** Sends the first ping after `pulseEveryMs`. */
  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#wait();
  }

  /** Called for each answer. */
  answered(): void {
    this.#missed = 0;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.close();
  }

  #wait(): void {
    const { timers } = this.#options;
    this.#timer = timers.start(pulseEveryMs, () => this.#beat(), undefined);
  }

  #beat(): void {
    if (this.#isStopped) return;
    if (this.#missed >= missedPulsesMax) {
      this.stop();
      this.#options.lost();
      return;
    }
    this.#missed += 1;
    this.#options.ask();
    this.#wait();
  }
}
