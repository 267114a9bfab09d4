import type { Randomness } from '../../base/randomness.js';
import type { Timers } from '../../base/timers.js';
import { RequestError } from './errors.js';
import { backOff, type BackOff } from '../../base/back-off.js';
import { sleep } from '../../base/sleep.js';

const passingStatuses = new Set([408, 429, 500, 502, 503, 504]);
/** As Node's sockets and the SDKs name what happens between two machines. */
const passingCodes = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  // Without a status: the connection broke in the middle of an answer.
  'PARSE_ERROR',
  'REQUEST_SEND_ERROR',
]);
const causesMax = 8;

/**
 * Whether an error is likely to pass by itself: the service was busy, failed or could not be
 * reached. Looks through causes. Everything else, the program's own errors included, is not.
 */
export function isTransient(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < causesMax; depth += 1) {
    if (isPassing(cause)) return true;
    cause = cause.cause;
  }
  return false;
}

function isPassing(error: Error): boolean {
  const status = statusOf(error);
  if (status !== 0) return passingStatuses.has(status);
  return 'code' in error && typeof error.code === 'string' && passingCodes.has(error.code);
}

/** HTTP status of an error of the library or of an SDK; 0 when it has none. */
export function statusOf(error: unknown): number {
  if (error instanceof RequestError) return error.status;
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') {
    return error.statusCode;
  }
  return 0;
}

export interface Retries {
  readonly attemptsMax: number;
  readonly backOffMs: BackOff;
  readonly timers: Timers;
  readonly randomness: Randomness;
  readonly signal?: AbortSignal;
  /** Told of each failure that is tried again. */
  readonly onRetry?: (error: unknown) => void;
}

/**
 * Sends a request again while it fails transiently. `send` is told whether an earlier attempt may
 * have been applied without an answer. Throws the last error.
 */
export async function retryTransient<T>(
  retries: Retries,
  send: (maybeApplied: boolean) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(attempt > 1);
    } catch (error) {
      const isLast = attempt >= retries.attemptsMax || retries.signal?.aborted === true;
      if (isLast || !isTransient(error)) throw error;
      retries.onRetry?.(error);
      const wait = backOff(retries.backOffMs, attempt, retries.randomness);
      await sleep(retries.timers, wait, retries.signal);
    }
  }
}
