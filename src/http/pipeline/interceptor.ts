import type { Exchange } from '../exchange/exchange.js';
import type { EntityName } from '../exchange/request-load.js';

/** A request that is allowed and well-formed, and whose work has not begun. */
export interface AdmittedRequest {
  readonly exchange: Exchange;
  /** Name of the operation in docs/reference/compatibility.md. */
  readonly operation: string;
  /** Whether the operation reads or writes entities or messages. */
  readonly hasLoad: boolean;
  /** What the request names. Costs: for those who must know. */
  entities(): readonly EntityName[];
  /** Waits for something that takes time. What other requests wait for is theirs meanwhile. */
  standAside(wait: () => Promise<void>): Promise<void>;
}

/** What may happen to requests besides being served: throttling, injected faults. */
export interface Interceptor {
  /** As long as it is false, nothing else is asked. */
  readonly isActive: boolean;
  /**
   * Called once a request, before its work. Rejects with a `StorageError` that is to be the answer
   * instead, or with `AbortedError` when it has broken the connection.
   */
  beforeWork(request: AdmittedRequest): Promise<void>;
}
