import { unreachable } from '../../base/invariant.js';
import {
  outcomeOf,
  type CallerKind,
  type RequestOutcome,
} from '../../model/analytics/request-status.js';
import type { RequestDetail, RequestRecord } from '../exchange/record.js';

/** What became of a request, for metrics and logs (blob-service §21.5). */
export function outcomeOfRecord(record: RequestRecord, detail: RequestDetail): RequestOutcome {
  const { status, errorCode, aborted } = record;
  // Only a time limit that has passed asks whose it was.
  const hasOwnTimeout = errorCode === 'OperationTimedOut' && detail.hasOwnTimeout;
  return outcomeOf({ status, errorCode, aborted, hasOwnTimeout });
}

/** The caller by the credential that came: one that is not valid makes nobody anonymous. */
export function callerKindOf({ credential }: RequestDetail): CallerKind {
  switch (credential) {
    case 'none':
      return 'anonymous';
    case 'sas':
      return 'sas';
    case 'key':
    case 'bearer':
      return 'owner';
    default:
      return unreachable(credential);
  }
}

/** When a request ended, in microseconds since 1970. */
export function endMicrosOf({ timeMicros, serverTimeMs }: RequestRecord): number {
  return timeMicros + Math.round(serverTimeMs * 1000);
}
