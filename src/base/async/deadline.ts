import type { Timer, Timers } from './timers.js';

/** The number of steps in which a deadline is counted. */
const steps = 4;

/**
 * Resolves as the work does, or rejects with `late()` after `limitMs`. The time is counted in
 * steps, and each step needs a running process: a process that was suspended for an hour has not
 * waited an hour. `progress` has another value whenever the work has got on: the time begins again
 * then.
 */
export function within<T>(
  work: Promise<T>,
  options: {
    readonly limitMs: number;
    readonly timers: Timers;
    readonly late: () => Error;
    readonly progress?: () => number;
  },
): Promise<T> {
  const { limitMs, timers, late, progress } = options;
  return new Promise((resolve, reject) => {
    let timer: Timer | undefined;
    let seen = progress?.();
    const step = (left: number): void => {
      const now = progress?.();
      const rest = now === seen ? left : steps;
      seen = now;
      if (rest === 0) reject(late());
      else timer = timers.start(limitMs / steps, step, rest - 1);
    };
    step(steps);
    void work.then(resolve, reject).finally(() => timer?.close());
  });
}

/**
 * Waits for work for at most `limitMs`, counted as in `within`. False when it has not ended by
 * then. Rejects as the work does.
 */
export async function endsWithin(
  work: Promise<unknown>,
  { limitMs, timers }: { readonly limitMs: number; readonly timers: Timers },
): Promise<boolean> {
  const late = new Error('The work did not end in time.');
  try {
    await within(work, { limitMs, timers, late: () => late });
    return true;
  } catch (error) {
    if (error === late) return false;
    throw error;
  }
}
