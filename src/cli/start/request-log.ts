import type { Logger } from 'pino';
import type { RequestObserver, RequestRecord } from '../../app/index.js';

/** The client asked for what no server has: its mistake, although the status is a 5xx. */
const notImplemented = 501;

/** Served requests are detail; a failure of the server is what its operator must see. */
export function requestLogger(log: Logger): RequestObserver {
  return (record) => {
    if (record.status >= 500 && record.status !== notImplemented)
      log.error(fieldsOf(record), 'request failed');
    else if (log.isLevelEnabled('debug')) log.debug(fieldsOf(record), 'request');
  };
}

/** What one line says. The path holds keys of rows, as it was sent; no line holds other values. */
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
