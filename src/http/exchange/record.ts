import type { ErrorCode } from '../../model/errors/registry.js';
import type { QueryReport } from '../../model/edm/query-report.js';
import type { ServiceName } from '../../model/services/services.js';
import type { AuthKind, BearerCaller } from './caller.js';
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
  /** The table, queue or container of blobs that the request addressed. */
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
  /**
   * The entities or messages written or returned, and the blobs addressed. A request that failed
   * has written and returned none; one that was refused before its work has no load at all.
   */
  readonly load: readonly PartitionLoad[];
  /** From the arrival of the header to the end of the response. */
  readonly serverTimeMs: number;
  /** The client went away before the response ended. */
  readonly aborted: boolean;
  /**
   * Details that few observers need. Absent when the bytes that came were no request. Keeping it
   * keeps the memory of the request; the connection may be gone after the call.
   */
  readonly detail?: RequestDetail | undefined;
}

/** The kind of credential that a request carries, whether it is valid or not. */
export type CredentialKind = 'none' | 'key' | 'sas' | 'bearer';

/** Further facts of a request. Each is made when it is read. */
export interface RequestDetail {
  /** As the client addressed it, without the value of a signature. */
  readonly url: string;
  /** The same in parts that follow each other. */
  readonly urlParts: readonly string[];
  /** The protocol version that the request was served with; empty when none was found. */
  readonly version: string;
  /** The secondary endpoint was asked. */
  readonly isSecondary: boolean;
  readonly credential: CredentialKind;
  /** The caller as its access token names it. */
  readonly bearer: BearerCaller | undefined;
  /** The request names a time limit. */
  readonly hasOwnTimeout: boolean;
  /** Bytes of the request line and header fields. */
  readonly requestHeadBytes: number;
  /** Bytes of the status line and the header fields that the server sets; 0 without an answer. */
  readonly responseHeadBytes: number;
  /** `serverTimeMs` without the time in which the body arrived and the answer was taken. */
  readonly serverMs: number;
  /** `address:port` of the client, an address of IPv6 in brackets; undefined when it has left. */
  readonly clientAddress: string | undefined;
  /** By its lower-case name. Contains credentials: must not be logged as a whole. */
  requestHeader(name: string): string | undefined;
  responseHeader(name: string): string | undefined;
}

/** Called once a request, after its response. Must not throw. */
export type RequestObserver = (record: RequestRecord) => void;
