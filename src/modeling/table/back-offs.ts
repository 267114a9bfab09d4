import type { BackOff } from '../../base/async/back-off.js';

/** Waits before another attempt, in milliseconds. */
export const backOffs = {
  /** After a conflict with another writer, who is done in one request. */
  contention: { first: 4, last: 250 },
  /** While another program hands a partition over. */
  handOver: { first: 4, last: 500 },
  /** Until a lease that somebody holds is looked at again. */
  leasePoll: { first: 50, last: 2_000 },
  /** After a service that was busy or could not be reached. */
  request: { first: 100, last: 5_000 },
  /** Between looks into an empty queue. */
  idle: { first: 100, last: 10_000 },
} as const satisfies Readonly<Record<string, BackOff>>;
