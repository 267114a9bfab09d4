import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
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

/** Awaits work for which no time is left whenever it waits. Fails when it waits without a limit. */
export async function hurried<Result>(
  signal: AbortSignal,
  start: (timers: Timers) => Promise<Result>,
): Promise<Result> {
  const timers = manualTimers();
  const state = { isOver: false };
  const work = start(timers).finally(() => {
    state.isOver = true;
  });
  work.catch(() => undefined);
  while (!state.isOver && !signal.aborted) {
    timers.fire();
    await turn();
  }
  assert.ok(state.isOver, 'it still waits');
  return work;
}

/** Far more turns of the event loop than anything takes that a test waits for without timers. */
const turnsMax = 100_000;

/** Resolves when something holds. Fails when it still does not after very many turns. */
export async function until(holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns += 1) {
    assert.ok(turns < turnsMax, 'it does not come to hold');
    await turn();
  }
}
