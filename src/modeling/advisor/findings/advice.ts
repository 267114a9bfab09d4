import type { PartitionLoad } from '../plans/load.js';
import type { OperationPlan } from '../plans/operation-plan.js';
import type { RowSets } from '../plans/row-set.js';
import type { ServiceTargets } from '../plans/service-targets.js';
import type { AnyWorkload } from '../facts/workload.js';

/** The input of the rules. */
export interface Advice {
  readonly rowSets: RowSets;
  readonly workload: AnyWorkload;
  readonly plans: readonly OperationPlan[];
  readonly loads: readonly PartitionLoad[];
  readonly targets: ServiceTargets;
  /** Requests to the whole account at the busiest time. */
  readonly requestsPerSecond: number;
  /** The bytes of all rows, indexes included. */
  readonly bytes: number;
}

/** The share of a target from which a figure deserves a warning. */
export const nearTarget = 0.8;
