import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { Advice } from '../findings/advice.js';
import { conditionOf, equalProperties } from '../facts/condition-share.js';
import { finding, type Finding } from '../findings/finding.js';
import { requestsOf, type OperationPlan } from '../plans/operation-plan.js';
import type { RowSet } from '../plans/row-set.js';
import { sumOf, type Estimate } from '../plans/estimate.js';

/** A scan that returns less than this share of the rows it reads is reported. */
const wideShare = 0.1;

/** Queries that read much more than they return, or that an index could answer. */
export function queryFindings(advice: Advice): readonly Finding[] {
  return advice.plans.flatMap((plan) => [
    ...scanFindings(advice, plan),
    ...unusedByQuery(advice, plan),
  ]);
}

function readBy({ accesses }: OperationPlan): Estimate {
  return sumOf(accesses.filter(({ request }) => request === 'range-read').map(({ read }) => read));
}

function scanFindings({ targets }: Advice, plan: OperationPlan): readonly Finding[] {
  const { operation, name, planClass, returned } = plan;
  if (planClass === undefined || planClass === 'point') return [];
  const read = readBy(plan).expected;
  const figures = {
    perSecond: operation.perSecond,
    entitiesRead: read,
    entitiesReturned: returned.expected,
    requests: requestsOf(plan).expected,
  };
  const isPage = read <= targets.pageEntities;
  const subject = `operation '${name}'`;
  if (planClass === 'table-scan') {
    return [finding(isPage ? 'info' : 'warning', 'table-scan', subject, figures)];
  }
  if (isPage || returned.expected >= wideShare * read) return [];
  return [finding('warning', 'wide-scan', subject, figures)];
}

/** An index that could answer the query. */
function unusedByQuery(
  { rowSets }: Advice,
  { operation, name }: OperationPlan,
): readonly Finding[] {
  if (operation.kind !== 'query' && operation.kind !== 'scan') return [];
  const { definition } = rowSets.entities;
  const query = operation.kind === 'query' ? operation.query : (operation.scan ?? {});
  const known = new Set(equalProperties(conditionOf(definition, query), definition));
  if (known.size === 0) return [];
  const inPartition = operation.kind === 'query';
  const ofPartition = definition.partitionKey.parts.map(({ property }) => property);
  const given = new Set([...known, ...(inPartition ? ofPartition : [])]);
  const index = rowSets.indexes.find(
    (rowSet) =>
      (rowSet.index?.place !== 'same-partition' || inPartition) &&
      isAnsweredBy(rowSet, definition, given),
  );
  const property = index === undefined ? undefined : firstOf(index, known);
  if (index?.index === undefined || property === undefined) return [];
  const figures = { index: index.index.name, property };
  return [finding('warning', 'index-not-used', `operation '${name}'`, figures)];
}

/**
 * Whether the values of a query determine the leading parts of an index's keys, a range of them.
 */
function isAnsweredBy(
  { index, definition }: RowSet,
  entity: AnyDefinition,
  given: ReadonlySet<string>,
): boolean {
  const ofPartition = new Set(entity.partitionKey.parts.map(({ property }) => property));
  const isBeside = index?.place === 'same-partition';
  const partition = definition.partitionKey.parts.map(({ property }) => property);
  if (!isBeside && !partition.every((name) => given.has(name))) return false;
  const hasValue = !isBeside && partition.some((name) => given.has(name) && !ofPartition.has(name));
  const first = definition.rowKey.parts[0]?.property;
  return hasValue || (first !== undefined && given.has(first));
}

function firstOf({ definition }: RowSet, known: ReadonlySet<string>): string | undefined {
  return [...definition.partitionKey.parts, ...definition.rowKey.parts]
    .map(({ property }) => property)
    .find((name) => known.has(name));
}
