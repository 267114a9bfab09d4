import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';
import { TableNotFoundError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { epochOf, fenceOf } from './fence.js';
import type { WalkedShard } from './partition-walk.js';
import { MisplacedRowsError } from './shard-errors.js';
import { contentPartitions } from './shown-rows.js';

/** The first map of some tables, and these tables. */
export interface FirstMap {
  /** For people. */
  readonly title: string;
  readonly routing: ShardRouting;
  /**
   * All tables, including those to which the routing does not lead, because their rows would be
   * hidden.
   */
  readonly shards: readonly WalkedShard[];
  readonly textOf: (partitionKey: string) => string;
}

/**
 * Throws `MisplacedRowsError` for the first partition with rows where the map would not look for
 * it. Partitions that a map has opened before are left to recovery, which reports them, unless
 * their shard still accepts their writes and the home has no record of them: when a program opened
 * the home, the home would count as the later owner. A range read for each 1,000 rows, of which it
 * reads only the keys, and up to three point reads for each partition that is elsewhere. A table
 * that the routing does not lead to need not be there.
 */
export async function refuseMisplacedRows(first: FirstMap): Promise<void> {
  const { title, routing, shards, textOf } = first;
  const used = new Set(shardsOf(routing));
  for (const { name, table } of shards) {
    for await (const keys of contentOf(table, used.has(name))) {
      for (const partitionKey of keys) {
        const home = shardOfText(routing, textOf(partitionKey));
        if (home === name || (await isLeftToRecovery(first, { name, table }, partitionKey))) {
          continue;
        }
        throw new MisplacedRowsError(
          `${title} would look for '${partitionKey}' on ${placeOf(home)}, but its rows are on ` +
            `'${name}', where nothing would find them: create the map so that it leads to where ` +
            'rows are, and change it then, which moves them',
          { partitionKey, shard: name, home },
        );
      }
    }
  }
}

/** The partitions with rows of programs; none when an optional table is missing. */
async function* contentOf(
  table: TableGateway,
  isNeeded: boolean,
): AsyncGenerator<readonly string[], void, undefined> {
  try {
    yield* contentPartitions(table);
  } catch (error) {
    if (isNeeded || !(error instanceof TableNotFoundError)) throw error;
  }
}

/** Whether recovery reports a partition that is not on the shard of the routing. */
async function isLeftToRecovery(
  { routing, shards, textOf }: FirstMap,
  { table }: WalkedShard,
  partitionKey: string,
): Promise<boolean> {
  const { isOwner, epoch } = await fenceOf(table, partitionKey);
  if (epoch > 0 && !isOwner) return true;
  const home = shardOfText(routing, textOf(partitionKey));
  const homeTable = shards.find((shard) => shard.name === home)?.table;
  return homeTable !== undefined && (await epochOf(homeTable, partitionKey)) > 0;
}

function placeOf(shard: string | undefined): string {
  return shard === undefined ? 'no shard' : `'${shard}'`;
}
