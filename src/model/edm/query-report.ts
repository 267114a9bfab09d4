/**
 * How a query reads, best to worst. `point` reads single keys (one or several), `range` a part of
 * one or several partitions, `partition-scan` whole partitions, `partition-range-scan` a range of
 * partition keys, `table-scan` everything. `none`: the filter can match nothing, nothing is read.
 */
export type PlanClass =
  'none' | 'point' | 'range' | 'partition-scan' | 'partition-range-scan' | 'table-scan';

/** What a query cost: given to request records and shown to people. */
export interface QueryReport {
  readonly planClass: PlanClass;
  /** Key intervals of the whole plan, not only those that this page reached. */
  readonly intervals: number;
  readonly rowsScanned: number;
  readonly rowsReturned: number;
}
