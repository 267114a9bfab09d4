import type { Exchange } from '../exchange/exchange.js';
import type { EntityName } from '../exchange/request-load.js';

/** An authorised, well-formed request before its work begins. */
export interface AdmittedRequest {
  readonly exchange: Exchange;
  /** Name of the operation in docs/reference/compatibility.md. */
  readonly operation: string;
  /** True when the operation reads or writes entities or messages. */
  readonly hasLoad: boolean;
  /** False when its input changes nothing or only deletes. */
  readonly mayGrow: boolean;
  /** The entities that the request names. Costs time; call only when needed. */
  entities(): readonly EntityName[];
  /** Waits, and releases the request's work slot meanwhile. */
  standAside(wait: () => Promise<void>): Promise<void>;
}

/** Intercepts requests before their work: throttling, injected faults. */
export interface Interceptor {
  /** While false, no other member is used. */
  readonly isActive: boolean;
  /**
   * Called once per request, before its work. Rejects with a `StorageError` to answer with, or with
   * `AbortedError` after it has broken the connection.
   */
  beforeWork(request: AdmittedRequest): Promise<void>;
}
