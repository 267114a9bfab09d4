import type { ErrorCode } from '../errors/registry.js';

/** The outcomes of requests that metrics and logs count (blob-service §21.5). */
export const requestOutcomes = [
  'Success',
  'ThrottlingError',
  'ClientTimeoutError',
  'ServerTimeoutError',
  'ClientOtherError',
  'ServerOtherError',
  'AuthorizationError',
  'NetworkError',
] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];

/**
 * The callers that metrics distinguish. Every caller with a key of the account or a token counts as
 * the owner (blob-service §22.2).
 */
export const callerKinds = ['owner', 'anonymous', 'sas'] as const;
export type CallerKind = (typeof callerKinds)[number];

/** The prefixes of the names of statuses and counters. */
export const callerPrefixes: Readonly<Record<CallerKind, string>> = {
  owner: '',
  anonymous: 'Anonymous',
  sas: 'SAS',
};

/** The facts that determine the outcome of a request. */
export interface RequestEnd {
  /** The HTTP status; 0 when no answer has begun. */
  readonly status: number;
  readonly errorCode: ErrorCode | undefined;
  /** The client went away before the answer ended. */
  readonly aborted: boolean;
  /** The client asked for a time limit of its own. */
  readonly hasOwnTimeout: boolean;
}

export function outcomeOf({
  status,
  errorCode,
  aborted,
  hasOwnTimeout,
}: RequestEnd): RequestOutcome {
  if (aborted || status === 0) return 'NetworkError';
  if (status < 300) return 'Success';
  if (status === 401 || status === 403) return 'AuthorizationError';
  if (status < 500) return 'ClientOtherError';
  if (status === 503) return 'ThrottlingError';
  if (errorCode !== 'OperationTimedOut') return 'ServerOtherError';
  return hasOwnTimeout ? 'ClientTimeoutError' : 'ServerTimeoutError';
}

/** True when requests of this outcome are charged for (blob-service §21.5). */
export function isBillable(outcome: RequestOutcome, caller: CallerKind): boolean {
  if (outcome === 'AuthorizationError') return caller !== 'anonymous';
  return (
    outcome === 'Success' ||
    outcome === 'NetworkError' ||
    outcome === 'ClientOtherError' ||
    outcome === 'ClientTimeoutError'
  );
}

/** True when requests of this outcome count in the availability (blob-service §21.5). */
export function countsInAvailability(outcome: RequestOutcome, caller: CallerKind): boolean {
  if (outcome === 'AuthorizationError') return caller !== 'anonymous';
  return outcome !== 'ThrottlingError';
}
