import type { ErrorCode } from '../../model/errors/registry.js';
import type { QueryReport } from '../../model/edm/query-report.js';
import type { ServiceName } from '../../model/services/services.js';
import type { AuthKind } from './caller.js';
import type { PartitionLoad } from './request-load.js';

export type { AuthKind };

/**
 * The facts and the cost of one request. Made once, when the response has ended, and passed to
 * observers: logs, metrics, throttling and balancing use nothing else. Never contains property
 * values, keys of accounts or signatures.
 */
export interface RequestRecord {
  readonly requestId: string;
  readonly clientRequestId: string | undefined;
  /** Microseconds since 1970 at which the request's header had arrived. */
  readonly timeMicros: number;
  /** The service that was asked. */
  readonly service: ServiceName;
  /** The REST operation, e.g. `QueryEntities`; `Unknown` when the request named none. */
  readonly operation: string;
  readonly method: string;
  /** The path as sent, without the query string and anything that looks like a signature. */
  readonly path: string;
  readonly account: string | undefined;
  /** The table or queue that the request addressed. */
  readonly resource: string | undefined;
  readonly partitionKey: string | undefined;
  readonly authKind: AuthKind;
  readonly query: QueryReport | undefined;
  /** Operations in an entity group transaction; 1 for every other request. */
  readonly operationCount: number;
  readonly bytesReceived: number;
  readonly bytesSent: number;
  readonly status: number;
  readonly errorCode: ErrorCode | undefined;
  /** The names of the injected faults that affected the request, joined by commas. */
  readonly fault: string | undefined;
  /** The entities or messages written or returned; undefined when none are counted. */
  readonly load: readonly PartitionLoad[] | undefined;
  /** From the arrival of the header to the end of the response. */
  readonly serverTimeMs: number;
  /** The client went away before the response ended. */
  readonly aborted: boolean;
}

/** Called once a request, after its response. Must not throw. */
export type RequestObserver = (record: RequestRecord) => void;
