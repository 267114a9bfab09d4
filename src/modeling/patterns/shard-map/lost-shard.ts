import type { Timers } from '../../../base/async/timers.js';
import { concurrently } from '../../../base/async/concurrently.js';
import { losingShards } from '../../../placement/losing-shards.js';
import { retryConflicts } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';
import { claimPartition, epochOf, fencesOf, isClaimLost } from './fence.js';
import { routeOf, type MapState } from './map-state.js';
import { concurrencyDefault, type WalkedShard } from './partition-walk.js';
import { noTable, StaleMapError } from './shard-errors.js';
import type { StoredMap } from './stored-map.js';

/** What giving up a shard takes of a shard map. */
export interface LostShardParts {
  readonly map: StoredMap;
  /** Every shard that the program has a table for. */
  readonly shards: readonly WalkedShard[];
  /** For the waits between attempts. */
  readonly timers: Timers;
  readonly textOf: (partitionKey: string) => string;
  /** Makes the table of a shard one of the map. */
  readonly bind: (shard: string) => Promise<void>;
}

/**
 * Lets a change of the map go on without what an emptied shard had. Partitions that were to leave
 * it are opened on their new shards, where any other shard knows of them: above what all of these
 * know, so that what an earlier handover has left there counts nowhere. Those that it had got are
 * handed over again. Only then the table is one of the map again: until it is, nothing is copied
 * from there, which would delete the copies. Returns the number of partitions that were opened.
 */
export async function giveUpShard(
  { map, shards, timers, textOf, bind }: LostShardParts,
  shard: string,
): Promise<number> {
  // Another version: walks that have passed the lost partitions begin again.
  const state = await map.change('giving up a shard', (now): MapState => {
    if (now.phase === 'settled') {
      throw new StaleMapError(`${map.title} does not change: no shard is to be given up`);
    }
    // Handovers of other changes do not ask whether the former shard was emptied.
    if (now.operation === undefined) {
      throw new StaleMapError(
        `no operation makes the change of ${map.title}: no shard is to be given up`,
      );
    }
    const version = now.version + 1;
    const isLeft = losingShards(now.routing, now.target).includes(shard);
    if (!isLeft && now.phase !== 'handed-over') return { ...now, version };
    const { access: _, ...change } = now;
    return { ...change, version, phase: 'handing-over' };
  });
  let opened = 0;
  if (state.phase === 'handing-over') {
    const others = shards.filter(({ name }) => name !== shard);
    const tables = new Map(others.map(({ name, table }) => [name, table]));
    const open = async (partitionKey: string): Promise<void> => {
      const { home, before } = routeOf(state, textOf(partitionKey));
      if (home === undefined || before !== shard) return;
      const table = tables.get(home);
      if (table === undefined) throw noTable(home);
      const what = `opening '${partitionKey}' in ${table.table}`;
      const attempt = (): Promise<boolean> =>
        openLost({ map, state, others: [...tables.values()] }, table, partitionKey);
      if (await retryConflicts(what, { timers }, attempt, isClaimLost)) opened += 1;
    };
    for (const { table } of others) {
      await concurrently(fencesOf(table), concurrencyDefault, (fence) => open(fence.partitionKey));
    }
  }
  await bind(shard);
  return opened;
}

/** Returns whether it was opened now. */
async function openLost(
  {
    map,
    state,
    others,
  }: {
    readonly map: StoredMap;
    readonly state: MapState;
    readonly others: readonly TableGateway[];
  },
  table: TableGateway,
  partitionKey: string,
): Promise<boolean> {
  const claim = await claimPartition(table, partitionKey);
  if (claim === undefined) return false;
  // Read after the claim: a later change of the map finds the claim.
  const { version } = await map.fresh();
  if (version !== state.version) {
    await claim.release();
    throw new StaleMapError(`${map.title} has changed; give the shard up again`);
  }
  const known = await Promise.all(others.map((other) => epochOf(other, partitionKey)));
  await claim.open(Math.max(...known) + 1);
  return true;
}
