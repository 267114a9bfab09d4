import { RequestError } from './errors.js';
import { retry, type RetryOptions } from '../../base/async/retry.js';

const passingStatuses = new Set([408, 429, 500, 502, 503, 504]);
/** Error codes of Node's sockets and the SDKs for failures of the network. */
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
  // Without a status: the connection broke within a response.
  'PARSE_ERROR',
  'REQUEST_SEND_ERROR',
]);
const causesMax = 8;

/**
 * Whether an error is likely to pass by itself: the service was busy, failed or could not be
 * reached. Also looks at causes. All other errors, the program's own included, are not transient.
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

export type Retries = Omit<RetryOptions, 'isRetryable'>;

/**
 * Retries a request while it fails transiently. `send` gets whether an earlier attempt may have
 * been applied without a response. Throws the last error.
 */
export function retryTransient<T>(
  retries: Retries,
  send: (maybeApplied: boolean) => Promise<T>,
): Promise<T> {
  return retry({ ...retries, isRetryable: isTransient }, (count) => send(count > 1));
}
