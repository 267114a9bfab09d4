/** The longest delay of a timer of Node, in milliseconds: a longer one ends at once. */
export const timerMsMax = 2_147_483_647;

/** The only source of delays. Injected, so that tests decide when time has passed. */
export interface Timers {
  /** Calls back once, no sooner than after `delayMs`. */
  start<T>(delayMs: number, callback: (argument: T) => void, argument: T): Timer;
}

export interface Timer {
  /** After this the callback is not called any more. Idempotent. */
  close(): unknown;
}

/** A waiting timer keeps no process alive. */
export const systemTimers: Timers = {
  start: (delayMs, callback, argument) => setTimeout(callback, delayMs, argument).unref(),
};

/** A waiting timer keeps the process alive: for programs that do nothing but wait for work. */
export const holdingTimers: Timers = {
  start: (delayMs, callback, argument) => {
    const timer = setTimeout(callback, delayMs, argument);
    return { close: () => clearTimeout(timer) };
  },
};
