import type { ServiceName } from '../../model/services/services.js';

/** A text in which `*` stands for any text and `?` for any character, or a list: any of them. */
export type FaultPattern = string | readonly string[];

/** What a fault does to a request. */
export type FaultEffect =
  /** Answered instead of being executed. `retryAfterSeconds`: 1 for `ServerBusy`, else none. */
  | {
      readonly kind: 'error';
      readonly code: FaultErrorCode;
      readonly retryAfterSeconds?: number;
    }
  /** Executed and committed; then the connection closes without an answer. */
  | { readonly kind: 'drop-response' }
  /** Not executed: the connection is reset. */
  | { readonly kind: 'reset' }
  /**
   * Executed; the connection closes behind so many bytes of the answer's body, by default half of
   * it, and always before its end. An answer without a body is cut in its header.
   */
  | { readonly kind: 'truncate'; readonly bytes?: number }
  /** Executed later, in milliseconds. */
  | { readonly kind: 'latency'; readonly ms: number | FaultRange };

export interface FaultRange {
  readonly min: number;
  readonly max: number;
}

export const faultEffectKinds = ['error', 'drop-response', 'reset', 'truncate', 'latency'] as const;

export const faultErrorCodes = ['ServerBusy', 'OperationTimedOut', 'InternalError'] as const;
export type FaultErrorCode = (typeof faultErrorCodes)[number];

/**
 * Which requests meet a fault, and which. Members that are absent fit every request; the others
 * must all fit. Only requests that are allowed and well-formed meet faults.
 */
export interface FaultRule {
  /** Default: `fault-1`, `fault-2`, … Stands in records and logs. */
  readonly name?: string;
  readonly service?: ServiceName;
  /** Names of docs/reference/compatibility.md. */
  readonly operation?: FaultPattern;
  /** As on the request line. */
  readonly method?: FaultPattern;
  readonly account?: FaultPattern;
  /** In any case. */
  readonly table?: FaultPattern;
  readonly queue?: FaultPattern;
  /**
   * Keys of an entity that the request names: by its path, its body, an operation of its batch or
   * the filter of a query. A query over whole partitions names partition keys alone.
   */
  readonly partitionKey?: FaultPattern;
  readonly rowKey?: FaultPattern;
  /** From 0 to 1, the default. */
  readonly probability?: number;
  /** Makes probability and latency the same in every run. */
  readonly seed?: number;
  /** How many fitting requests pass first. */
  readonly skip?: number;
  /** How often it fires, at most. */
  readonly count?: number;
  /** Several: latencies, and at most one other. */
  readonly effect: FaultEffect | readonly FaultEffect[];
}
