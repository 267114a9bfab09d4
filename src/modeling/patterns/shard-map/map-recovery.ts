import { rebuiltRouting, type RoutingKind } from '../../../placement/rebuilt-routing.js';
import { shardOfText, shardsOf, type ShardRouting } from '../../../placement/shard-routing.js';
import { ModelError } from '../../rows/model-error.js';
import type { TableGateway } from '../../table/gateway.js';
import { epochOf, isOwned, raiseEpoch } from './fence.js';
import { sameRouting } from './map-row.js';
import type { MapState } from './map-state.js';
import type { ShardReport, WalkedShard } from './partition-walk.js';
import {
  findDifferences,
  ownedTexts,
  recoveringRoutings,
  type KeptSide,
  type RecoveryPlan,
  type ShardDifference,
} from './recovery.js';
import { StaleMapError } from './shard-errors.js';
import type { ShardStepOptions } from './shard-map-options.js';
import type { StoredMap } from './stored-map.js';

/** What recovery takes of a shard map. */
export interface RecoverySteps {
  readonly map: StoredMap;
  /** Every shard that the program has a table for, sorted. */
  readonly shards: () => readonly WalkedShard[];
  readonly textOf: (partitionKey: string) => string;
  /** Opens a partition on its shard by the map. Returns the rows that were copied for it. */
  readonly open: (partitionKey: string) => Promise<number>;
  readonly walk: (
    state: MapState,
    shards: readonly string[],
    options: ShardStepOptions,
    work: (shard: WalkedShard, partitionKey: string) => Promise<number | undefined>,
  ) => Promise<ShardReport>;
  readonly persistently: <T>(what: string, attempt: () => Promise<T>) => Promise<T>;
  readonly checked: (routing: ShardRouting) => ShardRouting;
  readonly cutOver: (options: ShardStepOptions) => Promise<ShardReport>;
  readonly finish: () => Promise<MapState>;
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
   * both shards for each difference. Throws `StaleMapError` while the map changes.
   */
  async plan(keep: KeptSide): Promise<RecoveryPlan> {
    const { map, shards, textOf } = this.#steps;
    const { version, routing, phase } = await map.fresh();
    if (phase !== 'settled') {
      throw new StaleMapError(`the map '${map.name}' is ${phase}; finish that or roll it back`);
    }
    const found = await findDifferences({ shards: shards(), textOf, routing });
    return Object.freeze({ version, keep, ...found });
  }

  /**
   * Ends the differences of a plan: hands their partitions over to their shards by the map, or
   * changes the map to the shards that have them; with a hash all partitions of their slots. Where
   * both shards accept writes the rows of the kept side count, otherwise those of the latest
   * handover; programs go on meanwhile. Throws `StaleMapError`, before anything is written, when
   * the map has changed since the plan. When it was killed, `cutOver` and `finish` end it.
   */
  async recover(plan: RecoveryPlan, options: ShardStepOptions = {}): Promise<ShardReport> {
    const { map, textOf, persistently, checked, cutOver, finish } = this.#steps;
    if (plan.differences.length === 0) return { partitions: 0, rows: 0 };
    const state = await map.fresh();
    this.#refuseStale(state, plan);
    const change = recoveringRoutings(state.routing, plan, textOf);
    checked(change.routing);
    checked(change.target);
    await this.#openAll(state, options);
    for (const difference of plan.differences) await this.#preferKept(plan, difference);
    await persistently('recovering', async () => {
      const { state: now, etag } = await map.read();
      const isBegun = now.phase === 'handing-over' && sameRouting(now.target, change.target);
      if (isBegun) return now;
      this.#refuseStale(now, plan);
      return map.write({ version: plan.version + 1, phase: 'handing-over', ...change }, etag);
    });
    const report = await cutOver(options);
    await finish();
    return report;
  }

  /**
   * A routing by which every partition is where a shard accepts its writes, for `create` when the
   * map is lost. Needs no map and writes nothing. A range read of each shard for 1,000 of the rows
   * that a map keeps in partitions. Throws `ModelError` when two shards have one text, or texts of
   * one slot.
   */
  async rebuiltRouting(wanted: RoutingKind): Promise<ShardRouting> {
    const { map, shards, textOf, checked } = this.#steps;
    const routing = rebuiltRouting(await ownedTexts({ shards: shards(), textOf }), wanted);
    if (typeof routing !== 'string') return checked(routing);
    throw new ModelError(`the map '${map.name}' cannot be rebuilt: ${routing}`);
  }

  #refuseStale({ version, phase }: MapState, plan: RecoveryPlan): void {
    if (version === plan.version && phase === 'settled') return;
    throw new StaleMapError(
      `the plan is of version ${plan.version} of the map, which has version ${version}; plan again`,
    );
  }

  /** Of two shards the one with the later handover counts; where it is open, the kept one. */
  async #preferKept(plan: RecoveryPlan, difference: ShardDifference): Promise<void> {
    const { partitionKey, home, shard } = difference;
    const [kept, other] = plan.keep === 'map' ? [home, shard] : [shard, home];
    const tableOf = (name: string | undefined): TableGateway | undefined =>
      this.#steps.shards().find((each) => each.name === name)?.table;
    const [keptTable, otherTable] = [tableOf(kept), tableOf(other)];
    if (keptTable === undefined || otherTable === undefined) return;
    if (!(await isOwned(keptTable, partitionKey))) return;
    const latest = await epochOf(otherTable, partitionKey);
    if ((await epochOf(keptTable, partitionKey)) > latest) return;
    const result = await raiseEpoch(keptTable, partitionKey, latest + 1);
    if (typeof result !== 'string') return;
    throw new StaleMapError(`'${partitionKey}' is ${result} in ${keptTable.table}; plan again`);
  }

  /** A partition that nobody opened would be taken from the side that never had it. */
  async #openAll(state: MapState, options: ShardStepOptions): Promise<void> {
    const { textOf, open, walk } = this.#steps;
    await walk(state, shardsOf(state.routing), options, async ({ name, table }, partitionKey) => {
      if (shardOfText(state.routing, textOf(partitionKey)) !== name) return undefined;
      return (await epochOf(table, partitionKey)) > 0 ? undefined : open(partitionKey);
    });
  }
}
