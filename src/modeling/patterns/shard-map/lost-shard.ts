import { concurrently } from '../../../base/async/concurrently.js';
import { losingShards } from '../../../placement/losing-shards.js';
import { shardsOf } from '../../../placement/shard-routing.js';
import { claimPartition, epochOf, isOfMap } from './fence.js';
import { routeOf, type MapState } from './map-state.js';
import { concurrencyDefault, type WalkedShard } from './partition-walk.js';
import { StaleMapError } from './shard-errors.js';
import { contentPartitions } from './shown-rows.js';
import type { StoredMap } from './stored-map.js';

/** What giving up a shard takes of a shard map. */
export interface LostShardParts {
  readonly map: StoredMap;
  /** Every shard that the program has a table for. */
  readonly shards: readonly WalkedShard[];
  readonly textOf: (partitionKey: string) => string;
  /** Makes the table of a shard one of the map. */
  readonly bind: (shard: string) => Promise<void>;
}

/**
 * Lets a change of the map go on without what an emptied shard had. Partitions that were to leave
 * it are opened on their new shards, where those have copies of them; those that it had got are
 * handed over again. Only then the table is one of the map again: until it is, nothing is copied
 * from there, which would delete the copies. Returns the number of partitions that were opened.
 */
export async function giveUpShard(
  { map, shards, textOf, bind }: LostShardParts,
  shard: string,
): Promise<number> {
  // Another version: walks that have passed the lost partitions begin again.
  const state = await map.change('giving up a shard', (now): MapState => {
    if (now.phase === 'settled') {
      throw new StaleMapError(`${map.title} does not change: no shard is to be given up`);
    }
    const version = now.version + 1;
    const isLeft = losingShards(now.routing, now.target).includes(shard);
    if (!isLeft && now.phase !== 'handed-over') return { ...now, version };
    const { access: _, ...change } = now;
    return { ...change, version, phase: 'handing-over' };
  });
  let opened = 0;
  const open = async ({ name, table }: WalkedShard, partitionKey: string): Promise<void> => {
    const { home, before } = routeOf(state, textOf(partitionKey));
    if (home !== name || before !== shard || !(await isOfMap(table, partitionKey))) return;
    const claim = await claimPartition(table, partitionKey);
    if (claim === undefined) return;
    // Read after the claim: a later change of the map finds the claim.
    const { version } = await map.fresh();
    if (version !== state.version) {
      await claim.release();
      throw new StaleMapError(`${map.title} has changed; give the shard up again`);
    }
    await claim.open((await epochOf(table, partitionKey)) + 1);
    opened += 1;
  };
  const targets = state.phase === 'handing-over' ? shardsOf(state.target) : [];
  for (const target of shards) {
    if (target.name === shard || !targets.includes(target.name)) continue;
    for await (const keys of contentPartitions(target.table)) {
      await concurrently(keys, concurrencyDefault, (partitionKey) => open(target, partitionKey));
    }
  }
  await bind(shard);
  return opened;
}
