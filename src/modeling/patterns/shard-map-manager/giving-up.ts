import { concernedShards, losingShards } from '../../../placement/losing-shards.js';
import type { TableGateway } from '../../table/gateway.js';
import { leadingOf, rowsOfMap } from '../shard-map/shard-binding.js';
import type { ShardMap } from '../shard-map/shard-map.js';
import { ManagerError, OperationError } from './manager-errors.js';
import type { ManagerRows } from './manager-rows.js';
import { isUnderWay } from './operation-progress.js';
import type { Operation, OperationChange } from './operation-record.js';
import { refuseAnyRestoring } from './restoring-shards.js';
import type { ShardInfo } from './shard-statuses.js';

export interface GivingUpParts {
  /** The name of the map. */
  readonly name: string;
  readonly rows: ManagerRows;
  /** The map over tables whose shards are used whatever their status. */
  readonly map: Pick<ShardMap, 'state' | 'recovery'>;
  readonly tableOf: (shard: string) => TableGateway;
  readonly shards: () => Promise<readonly ShardInfo[]>;
  /** Makes the tables that the map lacks on a shard. */
  readonly createTables: (shard: string) => Promise<void>;
}

/** As `MapOperations.giveUp`. `change` writes the row of the operation. */
export async function giveUpInOperation(
  { name, rows, map, tableOf, shards, createTables }: GivingUpParts,
  operation: Operation,
  shard: string,
  change: (changed: OperationChange) => Promise<unknown>,
): Promise<void> {
  const { id } = operation;
  const state = await map.state();
  if (state.phase === 'settled' || !isUnderWay(state, id)) {
    throw new OperationError(`the operation ${id} is not under way on the map '${name}'`);
  }
  const { routing, target } = state;
  if (!concernedShards(routing, target).includes(shard)) {
    throw new OperationError(`the operation ${id} moves nothing from or to the shard '${shard}'`);
  }
  const infos = await shards();
  const info = infos.find((each) => each.name === shard);
  if (info?.status !== 'detached') {
    throw new ManagerError(
      `the shard '${shard}' is ${info?.status ?? 'not registered'}: detach it before it is given up, ` +
        'so that no program writes to its former account',
    );
  }
  await refuseAnyRestoring(rows, [shard]);
  const found = await rowsOfMap(tableOf(shard), { shard, ...leadingOf(state) });
  if (found.kind === 'bound') return;
  const isLeft = losingShards(routing, target).includes(shard);
  const isOnward = operation.status === 'cancelling' && isLeft;
  const status = isOnward ? 'running' : operation.status;
  const detached = infos.filter((each) => each.status === 'detached');
  await map.recovery.giveUp(shard, {
    gone: detached.map((each) => each.name),
    // Before the map changes: whoever finds the change of the map knows what is lost.
    begin: async () => {
      await change({ status, lost: [...new Set([...operation.lost, shard])] });
    },
    makeTable: () => createTables(shard),
  });
}
