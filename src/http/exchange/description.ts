import type { ErrorCode } from '../../model/errors/registry.js';
import type { QueryReport } from '../../model/edm/query-report.js';

/** What an operation adds to the record of its request; absent members change nothing. */
export interface Description {
  /** The operation's name, when the route has several. */
  readonly operation?: string;
  readonly container?: string;
  readonly partitionKey?: string | undefined;
  readonly operationCount?: number;
  readonly query?: QueryReport | undefined;
  /** The error of an answer with a success status. */
  readonly errorCode?: ErrorCode | undefined;
}
