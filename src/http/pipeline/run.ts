import type { Timers } from '../../base/timers.js';
import type { Exchange } from './exchange.js';
import type { Operation } from './service.js';

export interface TimeLimit {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** Called when the time has passed before the work was done. */
  readonly onElapsed: (exchange: Exchange) => void;
}

/**
 * Sixth stage: the storage work. When its time has passed the client gets its answer at once; work
 * that has begun is not undone, and its result is dropped.
 */
export async function run(
  exchange: Exchange,
  work: { readonly operation: Operation; readonly input: unknown; readonly request: unknown },
  limit: TimeLimit,
): Promise<unknown> {
  const timer = limit.timers.start(limit.timeoutMs, limit.onElapsed, exchange);
  try {
    return await work.operation.run(work.input, work.request);
  } finally {
    timer.close();
  }
}
