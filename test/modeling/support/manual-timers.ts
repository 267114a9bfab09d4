import { setImmediate } from 'node:timers/promises';
import { manualClock, type Clock, type ManualClock } from '../../../src/base/clock.js';
import type { Timer, Timers } from '../../../src/base/async/timers.js';

/** A clock and timers that stand still until a test advances them. */
export interface ManualTime extends Timers {
  readonly clock: Clock;
  /** Remaining milliseconds of the waiting timers, shortest first. */
  readonly waiting: readonly number[];
  /**
   * Advances the clock and fires every timer in between at its time. After each, some turns of the
   * event loop pass for the work that it started; requests may take more turns.
   */
  pass(milliseconds: number): Promise<void>;
}

interface Waiting {
  readonly atMs: number;
  readonly fire: () => void;
}

/** `clock` may also be the clock of a server, which then uses the same time. */
export function manualTime(clock: ManualClock = manualClock()): ManualTime {
  const timers = new Set<Waiting>();
  const next = () => [...timers].toSorted((left, right) => left.atMs - right.atMs)[0];
  const moveTo = (atMs: number) =>
    clock.advanceMicros(Math.max(0, Math.round((atMs - clock.monotonicMs()) * 1000)));
  return {
    clock,
    get waiting() {
      const now = clock.monotonicMs();
      return [...timers].map(({ atMs }) => atMs - now).toSorted((left, right) => left - right);
    },
    start(delayMs, callback, argument): Timer {
      const waiting = { atMs: clock.monotonicMs() + delayMs, fire: () => callback(argument) };
      timers.add(waiting);
      return { close: () => timers.delete(waiting) };
    },
    async pass(milliseconds) {
      const endMs = clock.monotonicMs() + milliseconds;
      for (let due = next(); due !== undefined && due.atMs <= endMs; due = next()) {
        timers.delete(due);
        moveTo(due.atMs);
        due.fire();
        for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      }
      moveTo(endMs);
    },
  };
}
