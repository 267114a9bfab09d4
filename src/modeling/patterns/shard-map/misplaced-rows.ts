import { shardOfText, type ShardRouting } from '../../../placement/shard-routing.js';
import { epochOf } from './fence.js';
import type { WalkedShard } from './partition-walk.js';
import { MisplacedRowsError } from './shard-errors.js';
import { contentPartitions } from './shown-rows.js';

/** A first map, and the tables that it will be over. */
export interface FirstMap {
  /** For people. */
  readonly title: string;
  readonly routing: ShardRouting;
  readonly shards: readonly WalkedShard[];
  readonly textOf: (partitionKey: string) => string;
}

/**
 * Throws `MisplacedRowsError` for the first partition with rows where the map would not look for
 * it. Those that a map has opened before are left to recovery, which tells them. A range read for
 * each 1,000 rows, of which it reads only the keys, and up to two point reads for each partition
 * that is elsewhere.
 */
export async function refuseMisplacedRows({
  title,
  routing,
  shards,
  textOf,
}: FirstMap): Promise<void> {
  const tables = new Map(shards.map(({ name, table }) => [name, table]));
  const isKnown = async (shard: string | undefined, partitionKey: string): Promise<boolean> => {
    const table = shard === undefined ? undefined : tables.get(shard);
    return table !== undefined && (await epochOf(table, partitionKey)) > 0;
  };
  for (const { name, table } of shards) {
    for await (const keys of contentPartitions(table)) {
      for (const partitionKey of keys) {
        const home = shardOfText(routing, textOf(partitionKey));
        if (home === name || (await isKnown(name, partitionKey))) continue;
        if (await isKnown(home, partitionKey)) continue;
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

function placeOf(shard: string | undefined): string {
  return shard === undefined ? 'no shard' : `'${shard}'`;
}
