/**
 * The access paths of queries, best to worst. `point` reads single keys, `range` a part of one or
 * several partitions, `partition-scan` whole partitions, `partition-range-scan` a range of
 * partition keys, `table-scan` everything. `none`: the filter cannot match, nothing is read.
 */
export type PlanClass =
  'none' | 'point' | 'range' | 'partition-scan' | 'partition-range-scan' | 'table-scan';

/** The cost of a query, for request records and people. */
export interface QueryReport {
  readonly planClass: PlanClass;
  /** The key intervals of the whole plan, including those that this page did not reach. */
  readonly intervals: number;
  readonly rowsScanned: number;
  readonly rowsReturned: number;
  /** The ranges that this page was read from. Absent when the data are in one store. */
  readonly ranges?: number;
}
