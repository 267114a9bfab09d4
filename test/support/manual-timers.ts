import type { Timers } from '../../src/base/async/timers.js';

/** Timers that call back when a test says so. */
export interface ManualTimers extends Timers {
  /** How many wait. */
  readonly waiting: number;
  /** Every delay that was asked for, in order. */
  readonly delays: readonly number[];
  /** Calls back everything that waits for so long or less, once. */
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
