import type { Advice } from '../findings/advice.js';
import { finding, type Finding, type Severity } from '../findings/finding.js';
import type { KeyName } from '../findings/finding-texts.js';
import { movingPart, type MovingPart } from '../facts/key-motion.js';
import type { RowSet } from '../plans/row-set.js';

/** Growing keys, which send all inserts to one node. */
export function keyFindings(advice: Advice): readonly Finding[] {
  const { entities, indexes } = advice.rowSets;
  return [entities, ...indexes]
    .filter(({ index }) => index?.kind !== 'list')
    .flatMap((rowSet) => rowSetFindings(advice, rowSet));
}

function rowSetFindings(advice: Advice, rowSet: RowSet): readonly Finding[] {
  const inserts = insertsPerSecond(advice);
  if (inserts === 0) return [];
  const { partitionKey, rowKey, properties } = rowSet.definition;
  const { facts } = advice.rowSets;
  const leading = movingPart(partitionKey, properties, facts);
  if (leading !== undefined && rowSet.index?.place !== 'same-partition') {
    return partitionKeyFindings(advice, rowSet, leading, inserts);
  }
  const inRows = movingPart(rowKey, properties, facts);
  return inRows === undefined ? [] : rowKeyFindings(advice, rowSet, inRows, inserts);
}

function insertsPerSecond({ plans }: Advice): number {
  return plans.reduce((sum, { operation }) => {
    if (operation.kind === 'insert') return sum + operation.perSecond;
    const isInsert = operation.kind === 'transaction' && (operation.of ?? 'insert') === 'insert';
    return isInsert ? sum + operation.perSecond * operation.writes : sum;
  }, 0);
}

function partitionKeyFindings(
  { targets }: Advice,
  { name }: RowSet,
  { property, direction, evidence, share }: MovingPart,
  inserts: number,
): readonly Finding[] {
  const target = targets.partitionEntitiesPerSecond;
  const figures = {
    key: 'PartitionKey' as KeyName,
    property,
    insertsPerSecond: inserts,
    share: share ?? 0,
    target,
  };
  const subject = `PartitionKey of ${name}`;
  if (evidence === 'number' || evidence === 'name') {
    const isPressing = evidence === 'name' && inserts > target;
    const severity = isPressing ? 'warning' : 'info';
    return share === 1 ? [finding(severity, 'maybe-append-key', subject, figures)] : [];
  }
  const perRange = inserts * (share ?? 0);
  // After a part that spreads, keys grow in many places at once.
  if (share !== 1 && perRange <= target) return [];
  return [finding(severityOf(perRange, target), `${direction}-key`, subject, figures)];
}

/** A RowKey that grows matters only where one partition gets the inserts. */
function rowKeyFindings(
  { targets, workload }: Advice,
  { name, partitions }: RowSet,
  { property, direction, evidence, share }: MovingPart,
  inserts: number,
): readonly Finding[] {
  const target = targets.partitionEntitiesPerSecond;
  const told = workload.operations.find(({ kind }) => kind === 'insert')?.busiest;
  const ofPartition = told ?? partitions.greatest;
  const perSecond = inserts * ofPartition;
  const isOnly = partitions.values === 1;
  if (evidence === 'number' || evidence === 'name' || share !== 1) return [];
  if (!isOnly && perSecond <= target) return [];
  return [
    finding(severityOf(perSecond, target), `${direction}-key`, `RowKey of ${name}`, {
      key: 'RowKey',
      property,
      insertsPerSecond: inserts,
      share: ofPartition,
      target,
    }),
  ];
}

function severityOf(perSecond: number, target: number): Severity {
  if (perSecond > target) return 'error';
  return perSecond > target / 10 ? 'warning' : 'info';
}
