import { nearTarget, type Advice } from '../findings/advice.js';
import { finding, type Finding } from '../findings/finding.js';
import type { PartitionLoad } from '../plans/load.js';
import type { OperationPlan } from '../plans/operation-plan.js';

/** Overloaded partitions and accounts. */
export function loadFindings(advice: Advice): readonly Finding[] {
  return [
    ...advice.loads.flatMap((load) => partitionFindings(advice, load)),
    ...accountFindings(advice),
  ];
}

function partitionFindings({ targets }: Advice, load: PartitionLoad): readonly Finding[] {
  const target = targets.partitionEntitiesPerSecond;
  const { rowSet, busiestPerSecond, busiestShare, busiestOperation } = load;
  const found: Finding[] = [];
  if (busiestPerSecond > nearTarget * target) {
    const isOver = busiestPerSecond > target;
    found.push(
      finding(isOver ? 'error' : 'warning', 'hot-partition', `partitions of ${rowSet.name}`, {
        place: rowSet.name,
        entitiesPerSecond: busiestPerSecond,
        target,
        partitions: load.above(target),
        share: busiestShare,
        operation: busiestOperation?.name ?? '',
        cause: isScan(busiestOperation) ? 'scan' : 'traffic',
      }),
    );
  }
  const isSmall = busiestPerSecond < target / 10;
  if (rowSet.partitions.values === 1 && rowSet.rows > 1) {
    found.push(
      finding(isSmall ? 'info' : 'warning', 'single-partition', `PartitionKey of ${rowSet.name}`, {
        rows: rowSet.rows,
        entitiesPerSecond: busiestPerSecond,
        target,
      }),
    );
  }
  return found;
}

/** Whether an operation reads ranges of rows, so that it can be made to read less. */
function isScan(plan: OperationPlan | undefined): boolean {
  return plan?.planClass !== undefined && plan.planClass !== 'point';
}

function accountFindings({ targets, requestsPerSecond, bytes }: Advice): readonly Finding[] {
  const { accountRequestsPerSecond, accountBytes } = targets;
  const found: Finding[] = [];
  if (requestsPerSecond > nearTarget * accountRequestsPerSecond) {
    const severity = requestsPerSecond > accountRequestsPerSecond ? 'error' : 'warning';
    const figures = { requestsPerSecond, target: accountRequestsPerSecond };
    found.push(finding(severity, 'busy-account', 'account', figures));
  }
  if (bytes > accountBytes) {
    found.push(finding('error', 'full-account', 'account', { bytes, target: accountBytes }));
  }
  return found;
}
