import { unreachable } from '../../base/invariant.js';
import {
  analyticsName,
  operationClass,
  type OperationClass,
} from '../../model/analytics/operation-name.js';
import {
  outcomeOf,
  type CallerKind,
  type RequestOutcome,
} from '../../model/analytics/request-status.js';
import type { RequestDetail, RequestRecord } from '../exchange/record.js';

/** A request of a known account that has ended, in the form that metrics and logs need. */
export interface EndedRequest {
  readonly record: RequestRecord;
  readonly account: string;
  readonly detail: RequestDetail;
  /** The name of the operation in metrics and logs. */
  readonly operation: string;
  readonly type: OperationClass;
  readonly outcome: RequestOutcome;
  readonly caller: CallerKind;
  /** Microseconds since 1970. */
  readonly endMicros: number;
}

export function endedRequest(
  record: RequestRecord,
  account: string,
  detail: RequestDetail,
): EndedRequest {
  const { name, type } = namedOperation(record);
  return {
    record,
    account,
    detail,
    operation: name,
    type,
    outcome: outcomeOfRecord(record, detail),
    caller: callerKindOf(detail),
    endMicros: record.timeMicros + Math.round(record.serverTimeMs * 1000),
  };
}

interface NamedOperation {
  readonly name: string;
  readonly type: OperationClass;
}

/** All operations except `Unknown`, whose class depends on more than its name. */
const namedOperations = new Map<string, NamedOperation>();

function namedOperation({ operation, method }: RequestRecord): NamedOperation {
  const known = namedOperations.get(operation);
  if (known !== undefined) return known;
  const name = analyticsName(operation);
  const named = { name, type: operationClass(name, method) };
  if (name !== 'Unknown') namedOperations.set(operation, named);
  return named;
}

/** The outcome of a request, for metrics and logs (blob-service §21.5). */
function outcomeOfRecord(record: RequestRecord, detail: RequestDetail): RequestOutcome {
  const { status, errorCode, aborted } = record;
  // Only a request that timed out needs to know whether the client had set the limit.
  const hasOwnTimeout = errorCode === 'OperationTimedOut' && detail.hasOwnTimeout;
  return outcomeOf({ status, errorCode, aborted, hasOwnTimeout });
}

/**
 * The kind of caller by the credential that was sent. A caller with an invalid credential is not
 * anonymous.
 */
function callerKindOf({ credential }: RequestDetail): CallerKind {
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
