import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';
import type { TableGateway } from '../../table/gateway.js';
import { isFenceRow, ownTypeProperty } from './fence.js';
import { isMapRow } from './map-row.js';
import type { MapState } from './map-state.js';
import { allRows } from '../../table/all-rows.js';
import type { RoutingChange } from './routing-changes.js';

/** The rows and partitions that move from one shard to another. */
export interface PlannedMove {
  readonly from: string;
  readonly to: string;
  readonly partitions: number;
  readonly rows: number;
}

/** The counted rows and partitions that a change of a map would move. */
export interface ShardPlan {
  /** The version of the map that the plan was made from. */
  readonly version: number;
  readonly target: ShardRouting;
  readonly moves: readonly PlannedMove[];
  /** Rows of the shards that were read. */
  readonly rows: number;
  readonly moving: number;
}

interface PlanInput {
  readonly tableOf: (shard: string) => TableGateway;
  readonly textOf: (partitionKey: string) => string;
}

/** A range read per 1,000 rows of the shards that the routing uses. */
export async function planRouting(
  { version, routing }: MapState,
  target: ShardRouting,
  { tableOf, textOf }: PlanInput,
): Promise<ShardPlan> {
  const moves = new Map<string, PlannedMove>();
  let rows = 0;
  let moving = 0;
  for (const from of shardsOf(routing)) {
    let last: string | undefined;
    for await (const partitionKey of partitionKeys(tableOf(from))) {
      const isNew = partitionKey !== last;
      last = partitionKey;
      const text = textOf(partitionKey);
      if (shardOfText(routing, text) !== from) continue;
      rows += 1;
      const to = shardOfText(target, text);
      if (to === undefined || to === from) continue;
      moving += 1;
      const name = JSON.stringify([from, to]);
      const known = moves.get(name) ?? { from, to, partitions: 0, rows: 0 };
      const partitions = known.partitions + (isNew ? 1 : 0);
      moves.set(name, { ...known, partitions, rows: known.rows + 1 });
    }
  }
  return { version, target, moves: [...moves.values()], rows, moving };
}

/** The PartitionKey of each row. */
async function* partitionKeys(table: TableGateway): AsyncGenerator<string, void, undefined> {
  for await (const row of allRows(table, { select: [ownTypeProperty] })) {
    if (!isFenceRow(row) && !isMapRow(row)) yield row.partitionKey;
  }
}

/** A function is applied to the former routing when its change is already under way. */
export function targetOf(
  { routing }: MapState,
  change: ShardRouting | RoutingChange | ShardPlan,
): ShardRouting {
  if (typeof change === 'function') return change(routing);
  return 'target' in change ? change.target : change;
}
