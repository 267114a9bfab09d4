import { allRows } from '../../table/all-rows.js';
import type { TableGateway } from '../../table/gateway.js';
import { ifTableExists } from '../../table/if-table-exists.js';
import { shardsOfState, type MapPhase, type MapState } from '../shard-map/map-state.js';
import { ownTypeProperty } from '../shard-map/fence.js';
import {
  ownerOfShard,
  requireOwner,
  unbindShard,
  type ShardOwner,
} from '../shard-map/shard-binding.js';
import { isContent } from '../shard-map/shown-rows.js';
import { ManagerError } from './manager-errors.js';

/** `kept`: rows that are left where nothing finds them again are meant to be. */
export interface ReleaseOptions {
  readonly rows?: 'kept';
}

/** Throws `ManagerError` where a map leads to the shard; `instead` says what to do. */
export function refuseUsed(
  maps: readonly { readonly name: string; readonly state: MapState | undefined }[],
  shard: string,
  instead: string,
): void {
  const used = maps.find(
    ({ state }) => state !== undefined && shardsOfState(state).includes(shard),
  );
  if (used === undefined) return;
  throw new ManagerError(`the map '${used.name}' leads to the shard '${shard}'; ${instead}`);
}

/** Throws `ManagerError` for a map on which a change is under way: in its phase. */
export function refuseMoving(map: string, phase: MapPhase | undefined): void {
  if (phase === undefined || phase === 'settled') return;
  throw new ManagerError(`the map '${map}' is ${phase}; run or cancel that first`);
}

/** Throws `ManagerError` while a table of a shard has rows of programs, unless they are kept. */
export async function requireUnused(
  table: TableGateway,
  shard: string,
  { rows }: ReleaseOptions,
): Promise<void> {
  const found = rows === 'kept' ? undefined : await firstContent(table);
  if (found === undefined) return;
  throw new ManagerError(
    `the shard '${shard}' has rows in '${table.table}', such as of '${found}', which nothing would ` +
      `find again; delete them, or say that they are kept (rows: 'kept')`,
  );
}

/**
 * As `requireUnused`, and ends that the table is a shard. Throws `ShardTakenError` for the table of
 * another map, or of another shard.
 */
export async function releaseShard(
  table: TableGateway,
  owner: ShardOwner,
  options: ReleaseOptions,
): Promise<void> {
  const found = await ifTableExists(() => ownerOfShard(table));
  if (found !== undefined) requireOwner(table, found, owner);
  await requireUnused(table, owner.shard, options);
  await ifTableExists(() => unbindShard(table));
}

/** A partition with rows of programs; undefined: there is none, or no table. */
function firstContent(table: TableGateway): Promise<string | undefined> {
  return ifTableExists(async () => {
    for await (const row of allRows(table, { select: [ownTypeProperty] })) {
      if (isContent(row)) return row.partitionKey;
    }
    return undefined;
  });
}
