import type { PlanClass } from '../table/query-plan.js';
import type { Estimate } from './plans/estimate.js';
import type { Finding } from './findings/finding.js';
import type { SizeRange } from './facts/property-facts.js';
import type { RequestClass } from './plans/access.js';
import type { AnyOperation } from './facts/workload.js';

/**
 * The result of `explain`: frozen, and made of numbers and texts alone, so that `JSON.stringify`
 * gives all of it. Fields may be added; existing ones keep their meaning in version 1.
 */
export interface Report {
  readonly version: 1;
  /** The type of the definition. */
  readonly subject: string;
  readonly rows: number;
  readonly operations: readonly OperationReport[];
  readonly capacity: CapacityReport;
  readonly load: LoadReport;
  readonly cost: CostReport;
  /** The most severe first. */
  readonly findings: readonly Finding[];
}

/** The requests and reads of one operation. */
export interface OperationReport {
  readonly name: string;
  readonly kind: AnyOperation['kind'];
  /** As the query itself reports it; absent for writes. */
  readonly planClass?: PlanClass;
  readonly perSecond: number;
  /** Sent by the caller for one operation. */
  readonly requests: Estimate;
  /** Sent by a worker for it afterwards, queues included. */
  readonly requestsLater: Estimate;
  readonly classes: readonly ClassReport[];
  /** Entities that the service reads for one operation. */
  readonly entitiesRead: Estimate;
  readonly entitiesReturned: Estimate;
  readonly entitiesWritten: Estimate;
  /** Counts requests of the caller and of workers. */
  readonly requestsPerMonth: number;
  /** In the currency of the prices. */
  readonly costPerMonth: number;
}

/** Requests of one class to one place, for one operation. */
export interface ClassReport {
  readonly class: RequestClass;
  /** The type of the entities, `index 'name'`, `queue` or `blob`. */
  readonly place: string;
  readonly requests: Estimate;
}

/** The size of all rows. */
export interface CapacityReport {
  /** All rows, those of indexes included. */
  readonly bytes: number;
  readonly places: readonly PlaceReport[];
  /** How bytes are counted, and the source of the formula. */
  readonly formula: string;
  readonly source: string;
}

/** The size of the rows of one type or index. */
export interface PlaceReport {
  readonly name: string;
  readonly rows: number;
  /** The size of one row, as the service counts it. */
  readonly rowBytes: SizeRange;
  /** Bytes of the average row that are neither keys nor values. */
  readonly overheadBytes: number;
  readonly bytes: number;
}

/** The load of the account and its partitions. */
export interface LoadReport {
  /** Requests to the account at the busiest time. */
  readonly requestsPerSecond: number;
  readonly requestsPerSecondTarget: number;
  readonly partitionTarget: number;
  readonly places: readonly PartitionReport[];
}

/** The load of the partitions of one type or index. */
export interface PartitionReport {
  readonly name: string;
  readonly partitions: number;
  /** Read and written per second, in all partitions. */
  readonly entitiesPerSecond: number;
  readonly busiestPerSecond: number;
  readonly busiestShare: number;
  /** The operation that contributes most to the busiest partition; absent without operations. */
  readonly busiestOperation?: string;
  /** Partitions that get more than the target. */
  readonly partitionsOverTarget: number;
}

/** Cost per month. */
export interface CostReport {
  readonly currency: string;
  /** The service, the region and the date of the prices. */
  readonly prices: string;
  readonly region: string;
  readonly asOf: string;
  readonly capacity: number;
  readonly requests: number;
  readonly total: number;
}
