import type { BackOff } from '../../base/async/back-off.js';

/** Waits before another attempt, in milliseconds. */
export const backOffs = {
  /** After a conflict with another writer, which needs one request to finish. */
  contention: { first: 4, last: 250 },
  /** While another program hands a partition over. */
  handOver: { first: 4, last: 500 },
  /** Between two reads of a lease that another holder has. */
  leasePoll: { first: 50, last: 2_000 },
  /** After a service that was busy or could not be reached. */
  request: { first: 100, last: 5_000 },
  /** Between looks into an empty queue. */
  idle: { first: 100, last: 10_000 },
} as const satisfies Readonly<Record<string, BackOff>>;
