import type { MapRecovery } from '../shard-map/map-recovery.js';
import { requireKeptSide, type KeptSide, type RecoveryPlan } from '../shard-map/recovery.js';
import type { ManagedMap } from './managed-map.js';
import { ManagerError } from './manager-errors.js';
import type { ManagerRow, ManagerRows } from './manager-rows.js';
import { refuseRestoring } from './restoring-shards.js';
import { shardInfo } from './shard-statuses.js';
import { refuseUnbound, type LackedTables, type ShardTables } from './shard-tables.js';

export interface AttachOptions {
  readonly keep: KeptSide;
  /** Whether anything is written; false when absent. */
  readonly write?: boolean;
  /** Says that tables which know nothing of their map are meant to be what the shard has. */
  readonly unbound?: 'taken';
}

/** What `attach` found, by map. */
export interface AttachReport extends LackedTables {
  readonly shard: string;
  readonly plans: readonly { readonly map: string; readonly plan: RecoveryPlan }[];
  /**
   * The backup whose restore into the shard has not ended, so that it has a part of its rows;
   * undefined: none.
   */
  readonly restoring: string | undefined;
  /** Whether the shard is online now. */
  readonly isOnline: boolean;
}

/** What the manager gives to attach a shard. */
export interface AttachParts {
  readonly tables: ShardTables;
  /** Read after the row of the shard by which it comes back. */
  readonly restoring: string | undefined;
  /** The rows of all maps. */
  readonly registered: readonly ManagerRow[];
  /** All of them, opened. */
  readonly maps: readonly ManagedMap[];
  /** A map over the shards of this manager; of a dry run the attached one may lack its table. */
  readonly compared: (map: ManagedMap) => ManagedMap;
  /** Lets programs use the shard. */
  readonly begin: () => Promise<unknown>;
}

/** Throws `ManagerError` unless all maps that are registered were opened. */
export function requireAllMaps(
  shard: string,
  registered: readonly ManagerRow[],
  maps: readonly ManagedMap[],
): void {
  const missing = registered.find(({ name }) => maps.every((each) => each.name !== name));
  if (missing === undefined) return;
  throw new ManagerError(
    `the shard '${shard}' is attached with all maps; '${missing.name}' is missing`,
  );
}

/** Compares a shard with all maps, and brings it back with `write`. */
export async function attachShard(
  { tables, restoring, registered, maps, compared, begin }: AttachParts,
  shard: string,
  options: AttachOptions,
): Promise<AttachReport> {
  const { keep, write = false } = options;
  requireKeptSide(keep);
  if (write) refuseRestoring(shard, restoring);
  const { missing, unbound } = await tables.lackedBy(shard, registered);
  if (write) {
    if (options.unbound !== 'taken') refuseUnbound(shard, unbound, howToTake);
    if (missing.length > 0) await tables.create(shard, registered);
  }
  const plans: { readonly map: string; readonly plan: RecoveryPlan }[] = [];
  for (const map of maps) {
    const { recovery } = compared(map).unguarded;
    // A killed call may have left its recovery under way.
    if (write) await recovery.endBegun();
    if (write && unbound.includes(map.name)) await recovery.rebuildLocal(shard, { write });
    const plan = await recovery.plan(keep, { only: shard });
    plans.push({ map: map.name, plan });
    if (write) await recoverAll(recovery, plan);
  }
  if (write) await tables.serve(shard, begin);
  // By these this program reads and writes from then on.
  for (const { map } of write ? maps : []) await map.state().catch(() => undefined);
  return Object.freeze({ shard, missing, unbound, restoring, plans, isOnline: write });
}

const howToTake =
  "give the right account, or restore it; or take it as it is, also without rows (unbound: 'taken')";

/** Throws `ManagerError` when the row of the shard is not as it was read any more. */
export async function putOnline(
  rows: ManagerRows,
  { name, texts, etag }: ManagerRow,
): Promise<void> {
  if (await rows.put('shard', name, { ...texts, Status: 'online' }, etag)) return;
  const now = await rows.find('shard', name);
  // The answer to this write may have been lost.
  if (now !== undefined && shardInfo(now).status === 'online') return;
  throw new ManagerError(
    `the shard '${name}' was changed while it was attached, and may have been restored: attach it ` +
      'again',
  );
}

/**
 * One plan holds at most `differencesMax` differences, and one of each partition. So plans are made
 * until one is empty.
 */
async function recoverAll(recovery: MapRecovery, plan: RecoveryPlan): Promise<void> {
  const { keep, only } = plan;
  const again = only === undefined ? {} : { only };
  for (let left = plan; left.differences.length > 0; left = await recovery.plan(keep, again)) {
    await recovery.recover(left);
  }
}
