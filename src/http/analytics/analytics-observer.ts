import type { Clock } from '../../base/clock.js';
import { intervalStart } from '../../model/analytics/metrics-table.js';
import { operationClasses, type OperationClass } from '../../model/analytics/operation-name.js';
import type { LoggingProperties } from '../../model/resources/service-properties.js';
import type { ServicePropertiesService } from '../../services/accounts/service-properties.js';
import type { LogWriter } from '../../services/analytics/log-writer.js';
import { hasMetrics } from '../../services/analytics/metrics-settings.js';
import type { RequestMetrics } from '../../services/analytics/request-metrics.js';
import { LogText, type LogRecord } from '../../wire/analytics/log-line.js';
import type { RequestObserver } from '../exchange/record.js';
import { endedRequest, type EndedRequest } from './ended-request.js';
import { isLogged, logRecordsOf } from './log-records.js';

export interface AnalyticsObserverOptions {
  readonly metrics: RequestMetrics;
  readonly logs: LogWriter;
  /** The services, which are read at each use because they may be replaced. */
  readonly services: { readonly properties: ServicePropertiesService };
  readonly clock: Clock;
}

/**
 * Records whose lines are made together: made one by one between requests, each line would take
 * twice as long. A waiting record keeps only texts of its request in memory.
 */
const batchMax = 64;
/** The bytes of the heads of such records. Most of a line comes from the head of its request. */
const batchHeadBytesMax = 64 * 1024;

/** A record that has no line yet. */
interface Unwritten {
  readonly record: LogRecord;
  readonly type: OperationClass;
  /** The hour in which the request ended. */
  readonly hourMicros: number;
}

/** Counts and logs the requests of services whose properties say so (blob-service §21, §22). */
export class AnalyticsObserver {
  readonly #options: AnalyticsObserverOptions;
  readonly #text = new LogText();
  #unwritten: Unwritten[] = [];
  #headBytes = 0;

  constructor(options: AnalyticsObserverOptions) {
    this.#options = options;
  }

  readonly observe: RequestObserver = (record) => {
    const { metrics, services, clock } = this.#options;
    const { service, account, detail } = record;
    // Without an account there are no properties that apply; without a detail there was no request.
    if (account === undefined || detail === undefined) return;
    const properties = services.properties.recent(service, account, clock.monotonicMs());
    const { logging } = properties;
    const isCounted = hasMetrics(properties);
    if (!isCounted && !logging.read && !logging.write && !logging.delete) return;
    const request = endedRequest(record, account, detail);
    if (isCounted) count(request, metrics);
    if (logging[request.type] && isLogged(request)) this.#log(request, logging);
  };

  /** Passes the lines of all requests so far to the writer. */
  flush(): void {
    const unwritten = this.#unwritten;
    this.#unwritten = [];
    this.#headBytes = 0;
    let run: Unwritten[] = [];
    for (const each of unwritten) {
      const [first] = run;
      if (first !== undefined && !isOfSameLog(first, each)) {
        this.#handOver(first, run);
        run = [];
      }
      run.push(each);
    }
    const [first] = run;
    if (first !== undefined) this.#handOver(first, run);
  }

  #log(request: EndedRequest, { version: asked }: LoggingProperties): void {
    // Logs of tables have no other version (blob-service §21.1).
    const version = asked === '2.0' && request.record.service !== 'table' ? '2.0' : '1.0';
    const { type, endMicros } = request;
    const hourMicros = intervalStart('Hour', endMicros);
    for (const record of logRecordsOf(request, version)) {
      this.#unwritten.push({ record, type, hourMicros });
      this.#headBytes += record.requestHeadBytes;
    }
    const isMany = this.#unwritten.length >= batchMax;
    if (isMany || this.#headBytes >= batchHeadBytesMax) this.flush();
  }

  #handOver({ record, hourMicros }: Unwritten, run: readonly Unwritten[]): void {
    const { ownerAccount: account, service, version } = record;
    const types = new Set<OperationClass>();
    let [startMicros, endMicros] = [Infinity, -Infinity];
    for (const { record: each, type } of run) {
      this.#text.add(each);
      types.add(type);
      startMicros = Math.min(startMicros, each.startMicros);
      endMicros = Math.max(endMicros, each.startMicros);
    }
    const inOrder = operationClasses.filter((type) => types.has(type));
    const metadata = { types: inOrder, startMicros, endMicros, version };
    const lines = this.#text.take();
    const { length: count } = run;
    this.#options.logs.add({ account, service, hourMicros, metadata, count, lines });
  }
}

function isOfSameLog(a: Unwritten, b: Unwritten): boolean {
  return (
    a.hourMicros === b.hourMicros &&
    a.record.service === b.record.service &&
    a.record.ownerAccount === b.record.ownerAccount &&
    a.record.version === b.record.version
  );
}

function count(request: EndedRequest, metrics: RequestMetrics): void {
  const { record, detail, account, operation, outcome, caller, endMicros } = request;
  metrics.count({
    endMicros,
    account,
    service: record.service,
    location: detail.isSecondary ? 'Secondary' : 'Primary',
    operation,
    outcome,
    caller,
    ingressBytes: detail.requestHeadBytes + record.bytesReceived,
    egressBytes: detail.responseHeadBytes + record.bytesSent,
    endToEndMs: record.serverTimeMs,
    serverMs: detail.serverMs,
  });
}
