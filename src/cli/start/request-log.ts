import type { Logger } from 'pino';
import type { RequestObserver, RequestRecord } from '../../app/index.js';

/** The status of unsupported features: a mistake of the client, although it is a 5xx. */
const notImplemented = 501;

/** Served requests are debug messages; failures of the server are errors. */
export function requestLogger(log: Logger): RequestObserver {
  return (record) => {
    if (record.status >= 500 && record.status !== notImplemented)
      log.error(fieldsOf(record), 'request failed');
    else if (log.isLevelEnabled('debug')) log.debug(fieldsOf(record), 'request');
  };
}

/** The fields of a line. The path contains row keys, as sent; other values are never logged. */
function fieldsOf(record: RequestRecord): Record<string, unknown> {
  const { query } = record;
  return {
    requestId: record.requestId,
    clientRequestId: record.clientRequestId,
    service: record.service,
    operation: record.operation,
    method: record.method,
    path: record.path,
    account: record.account,
    [record.service]: record.resource,
    auth: record.authKind,
    status: record.status,
    error: record.errorCode,
    fault: record.fault,
    ms: Math.round(record.serverTimeMs * 1000) / 1000,
    operations: record.operationCount > 1 ? record.operationCount : undefined,
    bytesIn: record.bytesReceived,
    bytesOut: record.bytesSent,
    plan: query?.planClass,
    intervals: query?.intervals,
    scanned: query?.rowsScanned,
    returned: query?.rowsReturned,
    aborted: record.aborted || undefined,
  };
}
