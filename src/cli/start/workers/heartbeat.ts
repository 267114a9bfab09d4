import type { Timer, Timers } from '../../../base/async/timers.js';

/** How often a worker is asked, and how many times in a row it may leave that unanswered. */
export const pulseEveryMs = 5_000;
export const missedPulsesMax = 6;

export interface HeartbeatOptions {
  readonly timers: Timers;
  /** Asks for an answer. */
  readonly ask: () => void;
  /** It has not answered for so long. Called once; nothing is asked after it. */
  readonly lost: () => void;
}

/**
 * Notices that a process does not answer any more, such as one whose main thread is caught in an
 * endless loop. Time is counted in questions that this process has lived to ask: when the machine
 * was suspended, or this process stood still, nobody has missed anything meanwhile.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #missed = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  /** Asks for the first time after `pulseEveryMs`. */
  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#wait();
  }

  /** There was an answer. */
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
