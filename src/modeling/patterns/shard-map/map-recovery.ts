import { concurrently } from '../../../base/async/concurrently.js';
import type { Timers } from '../../../base/async/timers.js';
import { rebuiltRouting, type RoutingKind } from '../../../placement/rebuilt-routing.js';
import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';
import { ModelError } from '../../rows/model-error.js';
import { isOvertaken, OvertakenError, retryConflicts } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';
import { epochOf, isOwned, raiseEpoch } from './fence.js';
import { giveUpShard, type GiveUpOptions } from './lost-shard.js';
import { sameRouting } from './map-row.js';
import type { MapState } from './map-state.js';
import {
  concurrencyDefault,
  requirePace,
  type ShardReport,
  type WalkedShard,
  type WalkOptions,
} from './partition-walk.js';
import {
  requireKeptSide,
  findDifference,
  findDifferences,
  ownedTexts,
  recoveringRoutings,
  type KeptSide,
  type RecoveryPlan,
  type ShardDifference,
} from './recovery.js';
import { rowsOfMap } from './shard-binding.js';
import { noTable, StaleMapError } from './shard-errors.js';
import type { RequireWhole, ShardStepOptions } from './shard-map-options.js';
import { contentPartitions } from './shown-rows.js';
import type { StoredMap } from './stored-map.js';

/** What recovery takes of a shard map. */
export interface RecoverySteps {
  readonly map: StoredMap;
  /** Every shard that the program has a table for, sorted. */
  readonly shards: () => readonly WalkedShard[];
  /** For the waits between attempts. */
  readonly timers: Timers;
  /** Throws `ShardTakenError` for a table that is that of another shard. A point read of each. */
  readonly refuseOtherShards: () => Promise<void>;
  readonly textOf: (partitionKey: string) => string;
  /** Opens a partition on its shard by the map. Returns the rows that were copied for it. */
  readonly open: (partitionKey: string) => Promise<number>;
  readonly walk: (
    state: MapState,
    shards: readonly string[],
    options: ShardStepOptions,
    work: (shard: WalkedShard, partitionKey: string) => Promise<number | undefined>,
  ) => Promise<ShardReport>;
  /** Makes the table of a shard one of the map. */
  readonly bind: (shard: string) => Promise<void>;
  readonly requireWhole: RequireWhole;
  readonly checked: (routing: ShardRouting) => ShardRouting;
  readonly cutOver: (options: ShardStepOptions) => Promise<ShardReport>;
  readonly finish: () => Promise<MapState>;
}

export interface LocalRebuildOptions extends WalkOptions {
  /** Whether partitions are opened; false when absent: they are only counted. */
  readonly write?: boolean;
}

/** What was, or would be, made again on a shard. */
export interface LocalRebuild {
  readonly shard: string;
  /** Partitions that lacked the rows of the map and are opened, or would be. */
  readonly opened: number;
  /** Partitions that lacked them and of which another shard knows: `plan` tells how. */
  readonly differing: number;
}

/**
 * What to do when a map and its shards disagree: a shard or the table of the map was restored from
 * an earlier copy, or the map is lost. Each step is planned first, which writes nothing.
 */
export class MapRecovery {
  readonly #steps: RecoverySteps;

  constructor(steps: RecoverySteps) {
    this.#steps = steps;
  }

  /**
   * In `settled`: where the map and its shards disagree, for `recover`. Writes nothing. A range
   * read of each shard for 1,000 of the rows that the map keeps in partitions, and range reads of
   * both shards for each difference; up to four point reads of each shard. With `only` the
   * differences of one shard: of partitions that it has by the map, or about which it disagrees
   * with the map. Throws `StaleMapError` while the map changes, `UnknownShardError` for a shard
   * that is not known, and `ShardTakenError` for a table that is that of another shard, such as of
   * an account with two names.
   */
  async plan(keep: KeptSide, { only }: { readonly only?: string } = {}): Promise<RecoveryPlan> {
    requireKeptSide(keep);
    const { shards, textOf, refuseOtherShards } = this.#steps;
    const all = shards();
    if (only !== undefined) tableAmong(all, only);
    const { version, routing } = await this.#settled();
    await refuseOtherShards();
    const emptied: string[] = [];
    for (const shard of shardsOf(routing)) {
      if (only !== undefined && only !== shard) continue;
      const { kind } = await rowsOfMap(tableAmong(all, shard), { shard, routing });
      if (kind !== 'bound') emptied.push(shard);
    }
    const found = await findDifferences({ shards: all, textOf, routing }, only);
    const asked = only === undefined ? {} : { only };
    return Object.freeze({ version, keep, ...asked, emptied, ...found });
  }

  /**
   * Ends the differences of a plan: hands their partitions over to their shards by the map, or
   * changes the map to the shards that have them; with a hash all partitions of their slots. Where
   * both shards accept writes the rows of the kept side count, otherwise those of the latest
   * handover; programs go on meanwhile. Throws `StaleMapError` when the map has changed since the
   * plan, before anything is written. So does one of two that recover at the same time: it may have
   * raised epochs of the side that it keeps, but what the other one decided stands. When it was
   * killed, `cutOver` and `finish` end it; then plan again. Throws `ContentionError` when other
   * writers of a partition are always faster.
   */
  async recover(plan: RecoveryPlan, options: ShardStepOptions = {}): Promise<ShardReport> {
    requirePace(options);
    const { map, textOf, checked, requireWhole, cutOver, finish } = this.#steps;
    if (plan.differences.length === 0) return { partitions: 0, rows: 0 };
    const state = await map.fresh();
    this.#refuseStale(state, plan);
    const change = recoveringRoutings(state.routing, plan, textOf);
    checked(change.routing);
    checked(change.target);
    const differing = plan.differences.flatMap(({ home, shard }) => [home, shard]);
    // What nobody has opened is opened on each shard of the map.
    await requireWhole([...differing, ...shardsOf(state.routing)]);
    await this.#openUndisputed(state, options);
    await this.#openOutdated(plan);
    await this.#preferKept(plan);
    await map.change('recovering', (now) => {
      if (isBegun(now, change)) return now;
      this.#refuseStale(now, plan);
      return { version: plan.version + 1, phase: 'handing-over', ...change };
    });
    const report = await cutOver(options);
    // A recovery that was refused because of this one may have preferred the other side meanwhile.
    // That side is closed now, so nobody prefers it any more.
    await this.#preferKept(plan);
    await finish();
    return report;
  }

  /**
   * Ends a recovery that has changed the map and was killed: hands the rest of its partitions over.
   * Also another change that no operation has begun, from where it hands over on. Does nothing
   * else. A point read, and the requests of `cutOver` and `finish`.
   */
  async endBegun(options: ShardStepOptions = {}): Promise<void> {
    const state = await this.#steps.map.fresh();
    if (state.phase === 'settled' || state.operation !== undefined) return;
    if (state.phase !== 'handing-over' && state.phase !== 'handed-over') return;
    await this.#steps.cutOver(options);
    await this.#steps.finish();
  }

  /**
   * While an operation changes the map: lets that go on without what a shard had whose account is
   * gone for good, and whose table is empty. What its new shards have copied of it counts. Returns
   * the number of partitions that were opened there. See `MapOperations.giveUp`. Throws
   * `StaleMapError` for a change that no operation makes, and `ModelError`, before anything is
   * changed, where partitions were to leave the shard and another shard cannot be asked about them.
   * Then two point reads of each other shard and a range read of it for 1,000 of the rows that the
   * map keeps in partitions; up to 6 requests for each that is opened, and a point read of each
   * shard for it.
   */
  giveUp(shard: string, options: GiveUpOptions = {}): Promise<number> {
    const { map, shards, timers, textOf, requireWhole, bind } = this.#steps;
    tableAmong(shards(), shard);
    const parts = { map, shards: shards(), timers, textOf, requireWhole, bind };
    return giveUpShard(parts, shard, options);
  }

  /**
   * Ends one difference of a plan, keeping the side that is said, as `recover` does. Two point
   * reads of each shard besides. Throws `StaleMapError`, before anything is written, when the
   * partition does not differ in that way any more, or while the map changes; and as `recover` when
   * another recovery is begun meanwhile, also one of other partitions.
   */
  async resolve(
    difference: ShardDifference,
    keep: KeptSide,
    options: ShardStepOptions = {},
  ): Promise<ShardReport> {
    requireKeptSide(keep);
    const { shards, textOf, refuseOtherShards } = this.#steps;
    const { version, routing } = await this.#settled();
    await refuseOtherShards();
    const { partitionKey, kind, home, shard } = difference;
    const found = await findDifference({ shards: shards(), textOf, routing }, partitionKey);
    if (found?.kind !== kind || found.home !== home || found.shard !== shard) {
      throw new StaleMapError(
        `'${partitionKey}' is not ${kind} on '${shard}' any more; plan again`,
      );
    }
    return this.recover(
      { version, keep, differences: [found], emptied: [], isWhole: true },
      options,
    );
  }

  /**
   * In `settled`: makes the rows again that a map keeps in the partitions of a shard, such as after
   * their entities were restored without them. Partitions of which other shards know are left as
   * they are, for `plan`. Writes nothing unless `write` is set. Range reads of the shard; for each
   * partition two point reads of each shard, and for one that is opened six requests. Throws
   * `ShardTakenError` for a shard of another map, `UnknownShardError` for one that is not known.
   */
  async rebuildLocal(
    shard: string,
    { write = false, ...options }: LocalRebuildOptions = {},
  ): Promise<LocalRebuild> {
    requirePace(options);
    const { shards, textOf, open, bind, refuseOtherShards, requireWhole } = this.#steps;
    const { routing } = await this.#settled();
    await refuseOtherShards();
    if (write) await requireWhole([shard]);
    const all = shards();
    const table = tableAmong(all, shard);
    if (write) await bind(shard);
    let [opened, differing] = [0, 0];
    for await (const keys of contentPartitions(table)) {
      options.signal?.throwIfAborted();
      await concurrently(keys, options.concurrency ?? concurrencyDefault, async (partitionKey) => {
        if (shardOfText(routing, textOf(partitionKey)) !== shard) return;
        if (await isOwned(table, partitionKey)) return;
        const found = await findDifference({ shards: all, textOf, routing }, partitionKey);
        if (found !== undefined) {
          differing += 1;
          return;
        }
        opened += 1;
        if (write) await open(partitionKey);
      });
      options.onProgress?.({ partitions: opened, rows: 0 });
    }
    return Object.freeze({ shard, opened, differing });
  }

  /**
   * A routing by which every partition is where a shard accepts its writes, or, where no program
   * has opened it, where its rows are: for `create` when the map is lost. Needs no map and writes
   * nothing. A range read of each shard for 1,000 of the rows that a map keeps in partitions, and
   * one for 1,000 rows, of which it reads only the keys. Throws `ModelError` when two shards have
   * one text, which says the one that may have a part alone, or texts of one slot, and
   * `ShardTakenError` for a table that is that of another shard.
   */
  async rebuiltRouting(wanted: RoutingKind): Promise<ShardRouting> {
    const { map, shards, textOf, checked, refuseOtherShards } = this.#steps;
    await refuseOtherShards();
    const routing = rebuiltRouting(await ownedTexts({ shards: shards(), textOf }), wanted);
    if (typeof routing !== 'string') return checked(routing);
    throw new ModelError(`${map.title} cannot be rebuilt: ${routing}`);
  }

  async #settled(): Promise<MapState> {
    const { map } = this.#steps;
    const state = await map.fresh();
    if (state.phase === 'settled') return state;
    throw new StaleMapError(`${map.title} is ${state.phase}; finish that or roll it back`);
  }

  #refuseStale({ version, phase }: MapState, plan: RecoveryPlan): void {
    if (version === plan.version && phase === 'settled') return;
    throw new StaleMapError(
      `the plan is of version ${plan.version} of the map, which has version ${version}; plan again`,
    );
  }

  async #preferKept({ keep, differences }: RecoveryPlan): Promise<void> {
    for (const difference of differences) await this.#preferSide(keep, difference);
  }

  /** Raises the epoch of the kept shard above the other's: the later handover counts. */
  async #preferSide(keep: KeptSide, { partitionKey, home, shard }: ShardDifference): Promise<void> {
    const { shards, timers } = this.#steps;
    const [kept, other] = keep === 'map' ? [home, shard] : [shard, home];
    const tableOf = (name: string | undefined): TableGateway | undefined =>
      shards().find((each) => each.name === name)?.table;
    const [keptTable, otherTable] = [tableOf(kept), tableOf(other)];
    if (keptTable === undefined || otherTable === undefined) return;
    const what = `keeping '${partitionKey}' in ${keptTable.table}`;
    const attempt = (): Promise<void> => preferTable(keptTable, otherTable, partitionKey);
    await retryConflicts(what, { timers }, attempt, isOvertaken);
  }

  /**
   * A partition that nobody opened would be taken from the side that never had it. Those of which
   * other shards know are differences, of this plan or of another one, which is not decided here.
   */
  async #openUndisputed(state: MapState, options: ShardStepOptions): Promise<void> {
    const { shards, textOf, open, walk } = this.#steps;
    const { routing } = state;
    const compared = { shards: shards(), textOf, routing };
    await walk(state, shardsOf(routing), options, async ({ name, table }, partitionKey) => {
      if (shardOfText(routing, textOf(partitionKey)) !== name) return undefined;
      if ((await epochOf(table, partitionKey)) > 0) return undefined;
      const isDisputed = (await findDifference(compared, partitionKey)) !== undefined;
      return isDisputed ? undefined : open(partitionKey);
    });
  }

  /**
   * Rows of a partition on its shard by the map count as open there when they were restored without
   * the rows of the map.
   */
  async #openOutdated({ differences }: RecoveryPlan): Promise<void> {
    const { shards, open } = this.#steps;
    for (const { kind, partitionKey, home } of differences) {
      if (kind !== 'outdated' || home === undefined) continue;
      if ((await epochOf(tableAmong(shards(), home), partitionKey)) === 0) await open(partitionKey);
    }
  }
}

/** Throws `OvertakenError` when another writer was faster. */
async function preferTable(
  kept: TableGateway,
  other: TableGateway,
  partitionKey: string,
): Promise<void> {
  if (!(await isOwned(kept, partitionKey))) return;
  const latest = await epochOf(other, partitionKey);
  if ((await epochOf(kept, partitionKey)) > latest) return;
  const result = await raiseEpoch(kept, partitionKey, latest + 1);
  if (result === 'contended') throw new OvertakenError(undefined);
  if (result !== 'closed') return;
  throw new StaleMapError(`'${partitionKey}' is closed in ${kept.table}; plan again`);
}

/** Whether a map changes by this recovery already, of the same partitions to the same side. */
function isBegun(
  state: MapState,
  { routing, target }: { readonly routing: ShardRouting; readonly target: ShardRouting },
): boolean {
  if (state.phase !== 'handing-over') return false;
  return sameRouting(state.routing, routing) && sameRouting(state.target, target);
}

function tableAmong(shards: readonly WalkedShard[], shard: string): TableGateway {
  const table = shards.find(({ name }) => name === shard)?.table;
  if (table !== undefined) return table;
  throw noTable(shard);
}
