import type { Clock } from '../../base/clock.js';
import { analyticsName, operationClass } from '../../model/analytics/operation-name.js';
import type { LoggingProperties } from '../../model/resources/service-properties.js';
import type { ServicePropertiesService } from '../../services/accounts/service-properties.js';
import type { LogWriter } from '../../services/analytics/log-writer.js';
import { hasMetrics } from '../../services/analytics/metrics-settings.js';
import type { RequestMetrics } from '../../services/analytics/request-metrics.js';
import { logLine } from '../../wire/analytics/log-line.js';
import type { RequestObserver } from '../exchange/record.js';
import { isLogged, logRecordsOf, type LoggedRequest } from './log-records.js';
import { callerKindOf, endMicrosOf, outcomeOfRecord } from './request-outcome.js';

export interface AnalyticsObserverOptions {
  readonly metrics: RequestMetrics;
  readonly logs: LogWriter;
  /** The current services: they are asked for at each use. */
  readonly services: { readonly properties: ServicePropertiesService };
  readonly clock: Clock;
}

/** Counts and logs the requests of services whose properties say so (blob-service §21, §22). */
export function analyticsObserver(options: AnalyticsObserverOptions): RequestObserver {
  const { metrics, logs, services, clock } = options;
  return (record) => {
    const { service, account, detail } = record;
    // Without an account, nobody has said what to do; without a detail, there was no request.
    if (account === undefined || detail === undefined) return;
    const properties = services.properties.recent(service, account, clock.monotonicMs());
    if (hasMetrics(properties)) count({ record, account, detail }, metrics);
    const { logging } = properties;
    if (logging.read || logging.write || logging.delete) {
      log({ record, account, detail }, logging, logs);
    }
  };
}

function count({ record, account, detail }: LoggedRequest, metrics: RequestMetrics): void {
  metrics.count({
    endMicros: endMicrosOf(record),
    account,
    service: record.service,
    location: detail.isSecondary ? 'Secondary' : 'Primary',
    operation: analyticsName(record.operation),
    outcome: outcomeOfRecord(record, detail),
    caller: callerKindOf(detail),
    ingressBytes: detail.requestHeadBytes + record.bytesReceived,
    egressBytes: detail.responseHeadBytes + record.bytesSent,
    endToEndMs: record.serverTimeMs,
    serverMs: detail.serverMs,
  });
}

function log(request: LoggedRequest, logging: LoggingProperties, logs: LogWriter): void {
  const { record, account } = request;
  const { service, timeMicros: startMicros } = record;
  const type = operationClass(analyticsName(record.operation), record.method);
  if (!logging[type] || !isLogged(request)) return;
  // Logs of tables have no other version (blob-service §21.1).
  const version = logging.version === '2.0' && service !== 'table' ? '2.0' : '1.0';
  const endMicros = endMicrosOf(record);
  for (const each of logRecordsOf(request, version)) {
    logs.add({ account, service, type, startMicros, endMicros, version, line: logLine(each) });
  }
}
