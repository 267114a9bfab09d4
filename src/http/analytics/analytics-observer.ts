import type { Clock } from '../../base/clock.js';
import {
  analyticsName,
  operationClass,
  type OperationClass,
} from '../../model/analytics/operation-name.js';
import type { LoggingProperties } from '../../model/resources/service-properties.js';
import type { ServicePropertiesService } from '../../services/accounts/service-properties.js';
import type { LogWriter } from '../../services/analytics/log-writer.js';
import { hasMetrics } from '../../services/analytics/metrics-settings.js';
import type { RequestMetrics } from '../../services/analytics/request-metrics.js';
import { logLine, type LogVersion } from '../../wire/analytics/log-line.js';
import type { RequestObserver } from '../exchange/record.js';
import { isLogged, logRecordsOf, type EndedRequest, type LoggedRequest } from './log-records.js';
import { callerKindOf, endMicrosOf, outcomeOfRecord } from './request-outcome.js';

export interface AnalyticsObserverOptions {
  readonly metrics: RequestMetrics;
  readonly logs: LogWriter;
  /** The current services: they are asked for at each use. */
  readonly services: { readonly properties: ServicePropertiesService };
  readonly clock: Clock;
}

/**
 * Requests whose lines are made together. More would save little, and what each keeps alive until
 * then is moved by the collections of garbage in between.
 */
const batchMax = 16;
/** A request with a longer body is not kept until then, for its body may be in memory. */
const keptBytesMax = 16 * 1024;

/** A request that has no line yet. */
interface Unwritten extends LoggedRequest {
  readonly type: OperationClass;
  readonly version: LogVersion;
}

/** Counts and logs the requests of services whose properties say so (blob-service §21, §22). */
export class AnalyticsObserver {
  readonly #options: AnalyticsObserverOptions;
  /** Lines are made of many requests at once: between requests each would take twice as long. */
  #unwritten: Unwritten[] = [];

  constructor(options: AnalyticsObserverOptions) {
    this.#options = options;
  }

  readonly observe: RequestObserver = (record) => {
    const { metrics, services, clock } = this.#options;
    const { service, account, detail } = record;
    // Without an account, nobody has said what to do; without a detail, there was no request.
    if (account === undefined || detail === undefined) return;
    const properties = services.properties.recent(service, account, clock.monotonicMs());
    const request = { record, account, detail };
    if (hasMetrics(properties)) count(request, metrics);
    const { logging } = properties;
    if (logging.read || logging.write || logging.delete) this.#log(request, logging);
  };

  /** Hands over the lines of all requests so far. */
  flush(): void {
    const { logs } = this.#options;
    const requests = this.#unwritten;
    if (requests.length === 0) return;
    this.#unwritten = [];
    for (const request of requests) {
      const { record, account, type, version } = request;
      const { service, timeMicros: startMicros } = record;
      const endMicros = endMicrosOf(record);
      for (const each of logRecordsOf(request, version)) {
        logs.add({ account, service, type, startMicros, endMicros, version, line: logLine(each) });
      }
    }
  }

  #log(request: EndedRequest, logging: LoggingProperties): void {
    const { record, account, detail } = request;
    const type = operationClass(analyticsName(record.operation), record.method);
    if (!logging[type] || !isLogged(request)) return;
    // Logs of tables have no other version (blob-service §21.1).
    const version = logging.version === '2.0' && record.service !== 'table' ? '2.0' : '1.0';
    const { clientAddress } = detail;
    this.#unwritten.push({ record, account, detail, clientAddress, type, version });
    const isLong = record.bytesReceived > keptBytesMax;
    if (isLong || this.#unwritten.length >= batchMax) this.flush();
  }
}

function count({ record, account, detail }: EndedRequest, metrics: RequestMetrics): void {
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
