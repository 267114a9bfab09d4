import type { PartitionLoad } from '../plans/load.js';
import type { OperationPlan } from '../plans/operation-plan.js';
import type { RowSets } from '../plans/row-set.js';
import type { ServiceTargets } from '../plans/service-targets.js';
import type { AnyWorkload } from '../facts/workload.js';

/** All that the rules look at. */
export interface Advice {
  readonly places: RowSets;
  readonly workload: AnyWorkload;
  readonly plans: readonly OperationPlan[];
  readonly loads: readonly PartitionLoad[];
  readonly targets: ServiceTargets;
  /** Of the whole account, at the busiest time. */
  readonly requestsPerSecond: number;
  /** Of all rows, indexes included. */
  readonly bytes: number;
}

/** From which share of a target on a figure is worth a warning. */
export const nearTarget = 0.8;
