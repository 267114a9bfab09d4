import type { ErrorCode } from '../../model/errors/registry.js';
import type { QueryReport } from '../../model/edm/query-report.js';

/** What an operation tells the record of its request; what is absent stays as it was. */
export interface Description {
  /** The operation's name, where the route has several. */
  readonly operation?: string;
  readonly container?: string;
  readonly partitionKey?: string | undefined;
  readonly operationCount?: number;
  readonly query?: QueryReport | undefined;
  /** Of an answer whose status does not tell that it failed. */
  readonly errorCode?: ErrorCode | undefined;
}
