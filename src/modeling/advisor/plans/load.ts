import type { OperationPlan } from './operation-plan.js';
import { movingPart } from '../facts/key-motion.js';
import type { RowSet, RowSets } from './row-set.js';
import type { Access } from './access.js';

/** The load of the partitions of a row set at the busiest time. */
export interface PartitionLoad {
  readonly rowSet: RowSet;
  /** Entities read and written per second, in all partitions. */
  readonly entitiesPerSecond: number;
  /** In the busiest partition. */
  readonly busiestPerSecond: number;
  /** Share of the requests that go to the busiest partition. */
  readonly busiestShare: number;
  /** The operation that contributes most to the busiest partition. */
  readonly busiestOperation: OperationPlan | undefined;
  /** The number of partitions that get more than this many entities per second. */
  readonly above: (entitiesPerSecond: number) => number;
}

interface Flow {
  readonly plan: OperationPlan;
  readonly access: Access;
  /** Operations per second. */
  readonly perSecond: number;
  /** The share that goes to the busiest partition; undefined: its share of the rows. */
  readonly busiest: number | undefined;
}

/**
 * The load of the entities' partitions, including indexes in them, and that of each other index.
 */
export function loadsOf(
  rowSets: RowSets,
  plans: readonly OperationPlan[],
): readonly PartitionLoad[] {
  const flows = plans.flatMap((plan) => flowsOf(rowSets, plan));
  const { entities, indexes } = rowSets;
  const elsewhere = indexes.filter(
    ({ index }) => index?.place !== 'same-partition' && index?.place !== 'blob',
  );
  return [entities, ...elsewhere].map((rowSet) =>
    loadOf(
      rowSet,
      flows.filter(({ access }) => homeOf(access.rowSet, rowSets) === rowSet),
    ),
  );
}

/** The row set whose partitions contain a row set. */
function homeOf(rowSet: RowSet | undefined, { entities }: RowSets): RowSet | undefined {
  return rowSet?.index?.place === 'same-partition' ? entities : rowSet;
}

function flowsOf(rowSets: RowSets, plan: OperationPlan): readonly Flow[] {
  const { operation, accesses } = plan;
  const { perSecond } = operation;
  const isInsert =
    operation.kind === 'insert' ||
    (operation.kind === 'transaction' && (operation.of ?? 'insert') === 'insert');
  return accesses.map((access) => {
    const home = homeOf(access.rowSet, rowSets);
    const told = home === rowSets.entities ? operation.busiest : undefined;
    const grown = isInsert && home !== undefined ? growingShare(home, rowSets) : undefined;
    return { plan, access, perSecond, busiest: told ?? grown };
  });
}

/**
 * The share of inserts that go to the newest partition, when PartitionKeys grow. When each row has
 * its own PartitionKey no partition is busy, only one end of the key range.
 */
function growingShare(
  { definition, partitions, rows }: RowSet,
  { facts }: RowSets,
): number | undefined {
  if (partitions.values * 2 > rows) return undefined;
  const moving = movingPart(definition.partitionKey, definition.properties, facts);
  const isKnown = moving?.evidence === 'declared' || moving?.evidence === 'moment';
  return isKnown ? moving.share : undefined;
}

function loadOf(rowSet: RowSet, flows: readonly Flow[]): PartitionLoad {
  const { greatest, values, above } = rowSet.partitions;
  const ofBusiest = new Map<OperationPlan, number>();
  for (const flow of flows) {
    const entities = carried(flow, greatest, flow.busiest ?? greatest);
    ofBusiest.set(flow.plan, (ofBusiest.get(flow.plan) ?? 0) + entities);
  }
  const byLoad = [...ofBusiest].toSorted(([, left], [, right]) => right - left);
  const busiestPerSecond = byLoad.reduce((sum, [, entities]) => sum + entities, 0);
  // The other operations spread over the other partitions.
  const elsewhere = (flow: Flow, share: number): number => {
    if (flow.busiest === undefined || greatest >= 1) return share;
    return (share * (1 - flow.busiest)) / (1 - greatest);
  };
  const atShare = (share: number): number =>
    flows.reduce((sum, flow) => sum + carried(flow, share, elsewhere(flow, share)), 0);
  const requests = flows.reduce((sum, flow) => sum + flow.perSecond, 0);
  const toBusiest = flows.reduce(
    (sum, flow) => sum + flow.perSecond * (flow.busiest ?? greatest),
    0,
  );
  return {
    rowSet,
    entitiesPerSecond: flows.reduce((sum, flow) => sum + total(flow), 0),
    busiestPerSecond,
    busiestShare: requests === 0 ? greatest : toBusiest / requests,
    busiestOperation: byLoad[0]?.[0],
    above: (limit) => {
      const others = atShare(greatest) > limit ? above(shareWith(atShare, greatest, limit)) : 0;
      return Math.min(values, Math.max(others, busiestPerSecond > limit ? 1 : 0));
    },
  };
}

/** Entities per second in a partition with a share of the rows and of the operations. */
function carried({ access, perSecond }: Flow, rowShare: number, share: number): number {
  const { partitions, at } = access;
  if (partitions === undefined) return perSecond * at(rowShare);
  return perSecond * Math.min(1, partitions * share) * at(rowShare);
}

function total({ access, perSecond }: Flow): number {
  return perSecond * (access.read.expected + access.written.expected);
}

const steps = 60;

/** The share at which a load that grows with it reaches a limit, by bisection. */
function shareWith(load: (share: number) => number, greatest: number, limit: number): number {
  let low = 0;
  let high = greatest;
  for (let step = 0; step < steps; step++) {
    const middle = (low + high) / 2;
    if (load(middle) > limit) high = middle;
    else low = middle;
  }
  return low;
}
