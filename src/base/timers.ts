/** The only source of delays. Injected, so that tests decide when time has passed. */
export interface Timers {
  /** Calls back once, no sooner than after `delayMs`. A waiting timer keeps no process alive. */
  start<T>(delayMs: number, callback: (argument: T) => void, argument: T): Timer;
}

export interface Timer {
  /** After this the callback is not called any more. Idempotent. */
  close(): unknown;
}

export const systemTimers: Timers = {
  start: (delayMs, callback, argument) => setTimeout(callback, delayMs, argument).unref(),
};
