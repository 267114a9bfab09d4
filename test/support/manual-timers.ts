import type { Timers } from '../../src/base/async/timers.js';

/** Timers that fire when a test says so. */
export interface ManualTimers extends Timers {
  /** The number of waiting timers. */
  readonly waiting: number;
  /** All delays so far, in order. */
  readonly delays: readonly number[];
  /** Fires all timers with this delay or less, once. */
  fire(delayMsMax?: number): void;
}

export function manualTimers(): ManualTimers {
  const waiting = new Map<() => void, number>();
  const delays: number[] = [];
  return {
    get waiting() {
      return waiting.size;
    },
    delays,
    start(delayMs, callback, argument) {
      const call = () => callback(argument);
      delays.push(delayMs);
      waiting.set(call, delayMs);
      return { close: () => waiting.delete(call) };
    },
    fire(delayMsMax = Infinity) {
      const due = [...waiting].filter(([, delayMs]) => delayMs <= delayMsMax);
      for (const [call] of due) waiting.delete(call);
      for (const [call] of due) call();
    },
  };
}
