import { authKindOf } from '../exchange/caller.js';
import type { Exchange } from '../exchange/exchange.js';
import { loggable } from './loggable.js';
import type { Logger } from '../exchange/logger.js';
import type { RequestObserver, RequestRecord } from '../exchange/record.js';
import { ExchangeDetail } from './request-detail.js';

export interface RecordContext {
  readonly observers: readonly RequestObserver[];
  readonly logger: Logger;
}

/**
 * Last stage: makes the only record of an exchange, when its response or its connection has ended.
 */
export function conclude(
  exchange: Exchange,
  outcome: { readonly aborted: boolean; readonly endMs: number },
  context: RecordContext,
): void {
  if (context.observers.length === 0) return;
  observe(recordOf(exchange, outcome), context);
}

/** Passes a record to every observer. An error of one is logged and does not affect the others. */
export function observe(record: RequestRecord, { observers, logger }: RecordContext): void {
  for (const observer of observers) {
    try {
      observer(record);
    } catch (error) {
      logger.error('an observer of requests failed', { error, requestId: record.requestId });
    }
  }
}

function recordOf(
  exchange: Exchange,
  { aborted, endMs }: { readonly aborted: boolean; readonly endMs: number },
): RequestRecord {
  const path = loggable(exchange.path);
  return {
    requestId: exchange.requestId,
    clientRequestId: exchange.clientRequestId,
    timeMicros: exchange.timeMicros,
    service: exchange.service,
    operation: exchange.operation,
    method: exchange.method,
    path,
    account: exchange.account?.name,
    resource: exchange.resource && loggable(exchange.resource),
    partitionKey: exchange.partitionKey,
    authKind: authKindOf(exchange.caller),
    query: exchange.query,
    operationCount: exchange.operationCount,
    bytesReceived: exchange.bytesReceived,
    bytesSent: exchange.bytesSent,
    status: exchange.status,
    errorCode: exchange.errorCode,
    fault: exchange.fault,
    load: exchange.load,
    serverTimeMs: endMs - exchange.startMs,
    aborted,
    detail: new ExchangeDetail(exchange, { path, endMs }),
  };
}
