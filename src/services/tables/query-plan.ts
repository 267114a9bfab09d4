import type { PlanClass } from '../../model/edm/query-report.js';
import type { Filter } from '../../model/edm/filter.js';
import type { StringInterval } from './string-set.js';

/** One stretch of keys to read. Bounds may end in U+0000: directly behind the key before it. */
export type KeyInterval =
  | { readonly kind: 'point'; readonly partitionKey: string; readonly rowKey: string }
  /** A part of one partition, or all of it. */
  | { readonly kind: 'rows'; readonly partitionKey: string; readonly rows: StringInterval }
  /** All rows of a range of partitions. */
  | { readonly kind: 'partitions'; readonly partitions: StringInterval };

/**
 * How to answer a query: read the intervals, in order, and return the rows for which the residual
 * holds. Intervals are sorted and disjoint, and every row that the filter matches lies in one. No
 * interval has a key outside of the range that the query is kept within.
 */
export interface QueryPlan {
  readonly planClass: PlanClass;
  readonly intervals: readonly KeyInterval[];
  /** What the intervals do not already guarantee; absent when they guarantee everything. */
  readonly residual: Filter | undefined;
}
