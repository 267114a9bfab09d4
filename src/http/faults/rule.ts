import type { ServiceName } from '../../model/services/services.js';

/** A text in which `*` matches any text and `?` any character, or a list of alternatives. */
export type FaultPattern = string | readonly string[];

/** The effect of a fault on a request. */
export type FaultEffect =
  /**
   * Answers with this error and does not execute the request. `retryAfterSeconds`: 1 for
   * `ServerBusy`, else none.
   */
  | {
      readonly kind: 'error';
      readonly code: FaultErrorCode;
      readonly retryAfterSeconds?: number;
    }
  /** Executes and commits the request, then closes the connection without an answer. */
  | { readonly kind: 'drop-response' }
  /** Resets the connection without executing the request. */
  | { readonly kind: 'reset' }
  /**
   * Executes the request and closes the connection after `bytes` of the answer's body, by default
   * half of it, and always before its end. An answer without a body is cut in its header.
   */
  | { readonly kind: 'truncate'; readonly bytes?: number }
  /** Delays the request by `ms` milliseconds. */
  | { readonly kind: 'latency'; readonly ms: number | FaultRange };

export interface FaultRange {
  readonly min: number;
  readonly max: number;
}

export const faultEffectKinds = ['error', 'drop-response', 'reset', 'truncate', 'latency'] as const;

export const faultErrorCodes = ['ServerBusy', 'OperationTimedOut', 'InternalError'] as const;
export type FaultErrorCode = (typeof faultErrorCodes)[number];

/**
 * The conditions and effects of a fault. All members that are present must match; absent members
 * match every request. Only authorised and well-formed requests are affected.
 */
export interface FaultRule {
  /** The name in records and logs. Default: `fault-1`, `fault-2`, … */
  readonly name?: string;
  readonly service?: ServiceName;
  /** Operation names, as in docs/reference/compatibility.md. */
  readonly operation?: FaultPattern;
  /** As on the request line. */
  readonly method?: FaultPattern;
  readonly account?: FaultPattern;
  /** In any case. */
  readonly table?: FaultPattern;
  readonly queue?: FaultPattern;
  readonly container?: FaultPattern;
  /** The name of a blob that the path names. */
  readonly blob?: FaultPattern;
  /**
   * Keys of an entity that the request names: by its path, its body, an operation of its batch or
   * the filter of a query. A query over whole partitions names only partition keys.
   */
  readonly partitionKey?: FaultPattern;
  readonly rowKey?: FaultPattern;
  /** From 0 to 1. Default 1. */
  readonly probability?: number;
  /** Makes probability and latency reproducible. */
  readonly seed?: number;
  /** The number of matching requests to skip first. */
  readonly skip?: number;
  /** The maximum number of times that it fires. */
  readonly count?: number;
  /** One effect, or several: latencies, and at most one other. */
  readonly effect: FaultEffect | readonly FaultEffect[];
}
