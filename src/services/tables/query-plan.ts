import type { PlanClass } from '../../model/edm/query-report.js';
import type { Filter } from '../../model/edm/filter.js';
import type { StringInterval } from './string-set.js';

/** An interval of keys to read. Bounds may end in U+0000: directly after the key without it. */
export type KeyInterval =
  | { readonly kind: 'point'; readonly partitionKey: string; readonly rowKey: string }
  /** A part of one partition, or all of it. */
  | { readonly kind: 'rows'; readonly partitionKey: string; readonly rows: StringInterval }
  /** All rows of a range of partitions. */
  | { readonly kind: 'partitions'; readonly partitions: StringInterval };

/**
 * The plan of a query: read the intervals in order, and return the rows for which the residual
 * holds. Intervals are sorted and disjoint, and cover every row that the filter matches. All of
 * them are within the key range of the query.
 */
export interface QueryPlan {
  readonly planClass: PlanClass;
  readonly intervals: readonly KeyInterval[];
  /**
   * The part of the filter that the intervals do not guarantee; absent when they guarantee all of
   * it.
   */
  readonly residual: Filter | undefined;
}
