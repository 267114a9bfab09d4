import { defaultLimits } from '../http/pipeline/limits.js';
import { serviceNames } from '../model/services/services.js';
import type { ServerOptions } from './options/table.js';

/**
 * The time that the steps of a stop share, besides requests in flight and the store: copies,
 * migrations, housekeeping and metrics may all wait for something that does not answer, and must
 * leave the store its time.
 */
export const stopStepsMs = 4_000;
/** The part of it that only the last metrics and log lines have: steps before them may hang. */
export const stopMetricsMs = 1_000;

/**
 * The time that is left for the store and the contents of blobs. A disk that answers nothing holds
 * up a journal, its data file and contents one after the other, for longer than that.
 */
const storeMs = 16_000;
/** The same in a worker, which owns no data file. */
const workerStoreMs = 6_000;

/** An orderly stop of a server that takes longer is ended all the same. */
export function stopMsMax(options: LimitOptions): number {
  return requestsMs(options) + stopStepsMs + storeMs;
}

/** A worker that takes longer to stop is killed. */
export function workerStopMsMax(options: LimitOptions): number {
  return requestsMs(options) + stopStepsMs + workerStoreMs;
}

type LimitOptions = Pick<ServerOptions, 'limits' | 'tableLimits' | 'queueLimits' | 'blobLimits'>;

/** How long requests in flight may hold up a stop, in the service that waits longest. */
function requestsMs(options: LimitOptions): number {
  const common = options.limits?.closeTimeoutMs ?? defaultLimits.closeTimeoutMs;
  const each = serviceNames.map(
    (service) => options[`${service}Limits` as const]?.closeTimeoutMs ?? common,
  );
  return Math.max(...each);
}
