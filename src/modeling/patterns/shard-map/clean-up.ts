import { shardOfText } from '../../../placement/shard-routing.js';
import { claimPartition, epochOf, isOfMap } from './fence.js';
import type { MapState } from './map-state.js';
import { emptyPartition } from './partition-copy.js';
import type { WalkedShard } from './partition-walk.js';
import type { Partitions } from './partitions.js';
import { StaleMapError } from './shard-errors.js';
import type { RequireWhole, ShardStepOptions } from './shard-map-options.js';
import type { StoredMap } from './stored-map.js';

export interface CleanUpParts {
  readonly map: StoredMap;
  readonly partitions: Partitions;
  readonly requireWhole: RequireWhole;
  readonly onKept: ShardStepOptions['onKept'];
  /** The settled map that the step is based on. */
  readonly state: MapState;
}

/**
 * Deletes a partition from a shard that does not own it any more. Returns the rows that were
 * deleted; undefined where it belongs.
 */
export async function cleanUpPartition(
  { map, partitions, requireWhole, onKept, state }: CleanUpParts,
  { name, table }: WalkedShard,
  partitionKey: string,
): Promise<number | undefined> {
  const home = shardOfText(state.routing, partitions.textOf(partitionKey));
  if (home === undefined || home === name) return undefined;
  const owner = partitions.shard(home);
  const keep = (reason: string): number => {
    onKept?.({ shard: name, partitionKey, reason });
    return 0;
  };
  // These rows are no copy of a map: another program wrote them, or they were restored without
  // those of the map.
  if (!(await isOfMap(table, partitionKey))) return keep('no map has opened it here');
  await requireWhole([name, home]);
  return partitions.untilDone(`deleting '${partitionKey}'`, async () => {
    const claim = await claimPartition(table, partitionKey);
    if (claim === undefined) return keep('it is open here');
    const [own, other] = [await epochOf(table, partitionKey), await epochOf(owner, partitionKey)];
    const { version } = await map.fresh();
    const isStale = version !== state.version;
    if (isStale || other <= own) {
      await claim.release();
      if (isStale) throw new StaleMapError('the map has changed; clean up again');
      return keep(`${home} never took it over`);
    }
    // After the epochs: when no restore is there yet, the owner that they tell of was whole.
    try {
      await requireWhole([name, home]);
    } catch (error) {
      await claim.release();
      throw error;
    }
    const rows = await emptyPartition(claim);
    await claim.forget();
    return rows;
  });
}
