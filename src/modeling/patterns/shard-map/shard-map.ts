import { systemClock } from '../../../base/clock.js';
import { systemRandomness } from '../../../base/randomness.js';
import { holdingTimers, type Timers } from '../../../base/async/timers.js';
import { concernedShards, losingShards } from '../../../placement/losing-shards.js';
import {
  routingFault,
  shardsOf,
  textsOfRouting,
  type ShardRouting,
} from '../../../placement/shard-routing.js';
import { requireChoice } from '../../definition/choice.js';
import { DefinitionError, ValueError } from '../../rows/model-error.js';
import { isConflictOrLost, retryConflicts } from '../../table/contention.js';
import type { TableGateway } from '../../table/gateway.js';
import { cleanUpPartition } from './clean-up.js';
import { CopySteps } from './copy-steps.js';
import { mapRow, sameRouting } from './map-row.js';
import { MapRecovery } from './map-recovery.js';
import { MapPhases, type Moving } from './map-phases.js';
import {
  routeOf,
  shardsOfRoute,
  shardsOfState,
  type ClosedAccess,
  type MapState,
} from './map-state.js';
import { MapWalks } from './map-walks.js';
import { nothing, requirePace, type ShardReport } from './partition-walk.js';
import { refuseMisplacedRows } from './misplaced-rows.js';
import { Partitions } from './partitions.js';
import {
  defaults,
  plainRules,
  type MapRules,
  type ShardMapOptions,
  type ShardStepOptions,
} from './shard-map-options.js';
import type { RoutingChange } from './routing-changes.js';
import {
  bindShard,
  howToKeep,
  ownerOfShard,
  refuseOtherShards,
  rebindShard,
  renewWitnesses,
  requireBound,
  requireOwner,
  type MapOfShard,
} from './shard-binding.js';
import { StaleMapError } from './shard-errors.js';
import { planRouting, targetOf, type ShardPlan } from './shard-plan.js';
import { ShardView, type ShardViews } from './shard-view.js';
import { ShardedTable } from './sharded-table.js';
import { StoredMap } from './stored-map.js';

/**
 * Partitions over several tables, by a stored map that can change while they are read and written.
 * Every program reads and writes through `table`; one program changes the map, by `apply` or by the
 * steps: `start`, `backfill`, perhaps `verify`, `cutOver`, `finish`, `cleanUp`. A step that was
 * killed is called again, by any program, and resumes; a step that is done does nothing.
 *
 * **Safety.** At most one shard owns a partition, and every write is a transaction that needs the
 * owner row on its shard. Therefore no write is lost or misplaced, whatever map a program assumes
 * and however long it was paused; no clock is trusted. Clocks only determine how old reads may be
 * (`reads`) and how soon a crashed handover is taken over.
 */
export class ShardMap {
  /** All shards as one table: for `shardedEntitiesOf`, `Entities`, transactions and patterns. */
  readonly table: TableGateway;
  /** For when the map and its shards disagree, as after a shard was restored. */
  readonly recovery: MapRecovery;
  readonly #options: ShardMapOptions & typeof defaults;
  readonly #map: StoredMap;
  readonly #phases: MapPhases;
  readonly #partitions: Partitions;
  readonly #walks: MapWalks;
  readonly #copying: CopySteps;
  readonly #timers: Timers;
  readonly #rules: MapRules;

  /** Throws `DefinitionError` for invalid options. Sends nothing. */
  constructor(options: ShardMapOptions, rules: MapRules = plainRules) {
    const { name, shards, clock = systemClock, timers = holdingTimers } = options;
    const { randomness = systemRandomness, routeBy = (partitionKey) => partitionKey } = options;
    const tables = Object.values(shards);
    if (name === '') throw new DefinitionError('a shard map needs a name');
    if (new Set(tables).size < tables.length) {
      throw new DefinitionError(`two shards of '${name}' are the same table`);
    }
    this.#options = { ...defaults, ...options };
    this.#timers = timers;
    this.#rules = rules;
    const { requireWhole } = rules;
    const { control, controlCopies: copies = [] } = this.#options;
    const { refreshMs, settleMs, takeOverMs, patienceMs, reads } = this.#options;
    this.#map = new StoredMap(name, { control, copies, clock, timers, refreshMs, settleMs });
    this.#phases = new MapPhases(this.#map);
    this.#partitions = new Partitions({
      map: this.#map,
      shards: new Map(Object.entries(shards)),
      textOf: routeBy,
      requireWhole,
      readsOwned: reads === 'owned',
      refreshMs,
      takeOverMs,
      patienceMs,
      clock,
      timers,
      randomness,
    });
    this.#walks = new MapWalks({
      map: name,
      control,
      partitions: this.#partitions,
      shardNames: Object.keys(shards),
    });
    this.#copying = new CopySteps({
      map: this.#map,
      phases: this.#phases,
      partitions: this.#partitions,
      walks: this.#walks,
      timers,
      requireWhole,
    });
    this.table = new ShardedTable(this.#map, this.#partitions, tables);
    this.recovery = new MapRecovery({
      map: this.#map,
      timers,
      shards: () => this.#walks.walked(this.#walks.shardNames),
      refuseOtherShards: () => this.#refuseOtherShards(),
      textOf: routeBy,
      open: async (partitionKey) => (await this.#partitions.settle(partitionKey)).copied,
      walk: (state, names, step, work) =>
        this.#walks.again({ step: 'recovery', state, shards: names, options: step, work }),
      requireWhole,
      bind: (shard) => rebindShard(this.#partitions.shard(shard), { ...this.#owner(), shard }),
      checked: (routing) => this.#checked(routing),
      cutOver: (step) => this.cutOver(step),
      finish: () => this.finish(),
    });
  }

  /**
   * Stores the first map. Rows that shards of the program have already are not moved: throws
   * `MisplacedRowsError`, before anything is written, where the map would not look for them, also
   * for those on shards that the routing does not lead to. For each shard a range read per 1,000
   * rows, keys only; for each that it leads to a point read and an insert, which makes its table
   * one of this map; one point read and one insert more. Returns the existing map if there is one.
   * Throws `ShardTakenError` for a table of another map.
   */
  async create(routing: ShardRouting): Promise<MapState> {
    this.#checked(routing);
    const first: MapState = { version: 1, phase: 'settled', routing };
    const attempt = async (): Promise<MapState> => {
      const found = await this.#map.find();
      if (found !== undefined) return found.state;
      await refuseMisplacedRows({
        title: this.#map.title,
        routing,
        shards: this.#walks.walked(this.#walks.shardNames),
        textOf: (partitionKey) => this.#text(partitionKey),
      });
      await this.#bind(first);
      return (await this.#map.write(first, undefined)).state;
    };
    const what = `creating ${this.#map.title}`;
    return retryConflicts(what, { timers: this.#timers }, attempt, isConflictOrLost);
  }

  /** One point read. */
  state(): Promise<MapState> {
    return this.#map.fresh();
  }

  /** The shard of a partition; undefined when a list has none. A point read each `refreshMs`. */
  async shardOf(partitionKey: string): Promise<string | undefined> {
    return routeOf(await this.#map.known(), this.#text(partitionKey)).home;
  }

  /**
   * As `shardOf`, of the text that a PartitionKey is routed by. Throws `ValueError` for one that is
   * not that of a key, of a map with keys.
   */
  async shardOfText(text: string): Promise<string | undefined> {
    this.#refuseOther(text);
    return routeOf(await this.#map.known(), text).home;
  }

  /**
   * The shards one by one, by the map as it is now: what each holds, to be read soon.
   * A point read each `refreshMs`. Of a partition that is handed over: two point reads, and perhaps
   * a range read of the shard that takes it over, which may have been read before.
   */
  async views(): Promise<ShardViews> {
    const state = await this.#map.known();
    const homes = this.#partitions.homes(state);
    const tableOf = (name: string): TableGateway => this.#partitions.shard(name);
    return {
      shards: shardsOfState(state),
      shardsOf: (text) => {
        this.#refuseOther(text);
        return shardsOfRoute(routeOf(state, text));
      },
      view: (name) => new ShardView(name, { homes, tableOf }),
    };
  }

  /**
   * What a change would move. Writes nothing. Sends a range read per 1,000 rows of the shards in
   * use, of which it reads only the keys.
   */
  async plan(change: ShardRouting | RoutingChange): Promise<ShardPlan> {
    const state = await this.#map.fresh();
    if (state.phase !== 'settled') throw this.#phases.error(state, ['settled']);
    const target = this.#changed(state, change);
    return planRouting(state, target, {
      tableOf: (shard) => this.#partitions.shard(shard),
      textOf: (partitionKey) => this.#partitions.textOf(partitionKey),
    });
  }

  /**
   * `settled` → `copying`. A point read and a write; does nothing when the map has that routing
   * already, or is changing to it. Throws `StaleMapError` when another change is under way, or the
   * plan was made from another version, and `UnknownShardError` for a shard that this program has
   * no table for. A point read of each shard, and an insert where it is new: throws
   * `ShardTakenError` for a table of another map, and `ModelError` for one of this map that
   * partitions would leave or reach and that was emptied. `operation` names the change in the map.
   */
  async start(
    change: ShardRouting | RoutingChange | ShardPlan,
    { operation }: { readonly operation?: string } = {},
  ): Promise<MapState> {
    const planned = 'target' in change ? change : undefined;
    return this.#map.change('starting', async (state) => {
      const target = this.#changed(state, planned?.target ?? change);
      const isSame = sameRouting(state.phase === 'settled' ? state.routing : state.target, target);
      if (isSame && state.phase !== 'handing-back') return state;
      if (state.phase !== 'settled') {
        throw new StaleMapError(`${this.#map.title} is changed to another routing already`);
      }
      if (planned !== undefined && planned.version !== state.version) {
        throw new StaleMapError(
          `the plan is of version ${planned.version} of the map, which has version ${state.version}; plan again`,
        );
      }
      const { version, routing } = state;
      const named = operation === undefined ? {} : { operation };
      const next: Moving = { version: version + 1, phase: 'copying', routing, target, ...named };
      await this.#bindNew(next);
      return next;
    });
  }

  /**
   * In `copying`: closes the partitions that move, until `cutOver` or `rollBack`. Their writes
   * throw `PartitionClosedError`; their reads go on with `read-only`, and throw with `offline`. No
   * write is applied after it resolves; reads follow within `refreshMs`. So `backfill` copies once,
   * `verify` finds no difference, and `cutOver` only opens what is there. Other partitions are not
   * concerned. Two walks over the keys of shards that lose any, and two requests for each.
   */
  async close(access: ClosedAccess, options: ShardStepOptions = {}): Promise<MapState> {
    requireChoice('access', access, ['read-only', 'offline']);
    return this.#copying.close(access, options);
  }

  /**
   * In `copying`: copies every partition that moves. Can be repeated: each run copies what has
   * changed, so that handovers have less to do. Throws `ModelError` where the shard was emptied
   * that a partition is to leave. Sends six requests for each partition, range reads of both shards
   * and a transaction for up to 99 rows that differ.
   */
  async backfill(options: ShardStepOptions = {}): Promise<ShardReport> {
    return this.#copying.backfill(options);
  }

  /**
   * In `copying`: counts the rows that differ from their copies, which the handovers will copy.
   * Writes nothing but its progress. Range reads of both shards.
   */
  async verify(options: ShardStepOptions = {}): Promise<ShardReport> {
    return this.#copying.verify(options);
  }

  /**
   * `copying` → `handing-over` → `handed-over`: hands every partition over. Writes of a partition
   * wait while the rows that differ from their copies are copied; those of other partitions
   * continue. Sends eight requests for each partition, range reads of both shards and a transaction
   * for up to 99 rows that differ.
   */
  async cutOver(options: ShardStepOptions = {}): Promise<ShardReport> {
    requirePace(options);
    const state = await this.#phases.advance(['copying'], 'handing-over', 'handed-over');
    return this.#cutOver(state, options);
  }

  /**
   * Back to `settled`, with the former routing. From `copying` a point read and a write; otherwise
   * through `handing-back`, which hands every partition back as `cutOver` hands it over, with
   * everything written since. With `operation` only the change of that one: does nothing when
   * another is under way, and throws `StaleMapError` when the phase changes meanwhile.
   */
  async rollBack(
    options: ShardStepOptions & { readonly operation?: string } = {},
  ): Promise<ShardReport> {
    requirePace(options);
    const { operation } = options;
    const before = await this.#map.fresh();
    if (before.phase === 'settled') return nothing;
    if (operation !== undefined && before.operation !== operation) return nothing;
    if (before.phase === 'copying') {
      await this.#phases.settle([before], 'rolled-back');
      return nothing;
    }
    const from = operation === undefined ? (['handing-over', 'handed-over'] as const) : [before];
    const state = await this.#phases.advance(from, 'handing-back');
    if (state.phase === 'settled') return nothing;
    const report = await this.#handOver(state, 'handing-back', options);
    await this.#phases.settle([state], 'rolled-back');
    return report;
  }

  /** `handed-over` → `settled`, with the new routing. A point read and a write. */
  async finish(): Promise<MapState> {
    const state = await this.#map.fresh();
    if (state.phase === 'settled') return state;
    return this.#phases.settle(['handed-over'], 'finished');
  }

  /**
   * Brings the copies of the map up to date, which every change of the map tries as well: for a
   * copy that is new, or was away. Two point reads of each, and a write. Throws `MapCopyError` for
   * those that cannot be reached, after the others.
   */
  publish(): Promise<void> {
    return this.#map.copy();
  }

  /**
   * In `settled`: waits until all copies of the map are current, and `settleMs` more, then deletes
   * partitions from shards that no longer own them. Keeps and reports partitions that no other
   * shard took over, and those that no map has opened or copied there. Throws `MapCopyError`,
   * before anything is deleted, when a copy cannot be reached, and `ShardTakenError` when a table
   * is that of another shard of this map. Walks over the keys of all shards; sends up to nine
   * requests for each partition, range reads, and a transaction per 99 rows.
   */
  async cleanUp(options: ShardStepOptions = {}): Promise<ShardReport> {
    const state = await this.#map.fresh();
    if (state.phase !== 'settled') throw this.#phases.error(state, ['settled']);
    await this.#map.settle(state);
    await this.#refuseOtherShards();
    await renewWitnesses(this.#walks.walked(this.#walks.shardNames), {
      routing: state.routing,
      textOf: (partitionKey) => this.#text(partitionKey),
      isCurrent: async () => (await this.#map.fresh()).version === state.version,
    });
    const parts = {
      map: this.#map,
      partitions: this.#partitions,
      requireWhole: this.#rules.requireWhole,
      onKept: options.onKept,
      state,
    };
    return this.#walks.again({
      step: 'cleanUp',
      state,
      shards: this.#walks.shardNames,
      options,
      work: (shard, partitionKey) => cleanUpPartition(parts, shard, partitionKey),
    });
  }

  /** All steps up to `finish`, from the current phase on, also after a kill. Throws as `start`. */
  async apply(
    change: ShardRouting | RoutingChange | ShardPlan,
    options: ShardStepOptions = {},
  ): Promise<MapState> {
    requirePace(options);
    let state = await this.start(change);
    if (state.phase === 'copying') {
      await this.backfill(options);
      state = await this.#phases.advance([state], 'handing-over', 'handed-over');
    }
    if (state.phase === 'settled') return state;
    await this.#cutOver(state, options);
    return this.finish();
  }

  async #cutOver(state: MapState, options: ShardStepOptions): Promise<ShardReport> {
    const report = await this.#handOver(state, 'handing-over', options);
    if (state.phase === 'handing-over') await this.#phases.advance([state], 'handed-over');
    return report;
  }

  async #handOver(
    state: MapState,
    phase: 'handing-over' | 'handing-back',
    options: ShardStepOptions,
  ): Promise<ShardReport> {
    if (state.phase !== phase) return nothing;
    const { routing, target } = state;
    return this.#walks.once({
      step: phase,
      state,
      shards:
        phase === 'handing-over' ? losingShards(routing, target) : losingShards(target, routing),
      options,
      work: async (shard, partitionKey) => {
        const { before } = this.#partitions.route(state, partitionKey);
        if (before !== shard.name) return undefined;
        return (await this.#partitions.settle(partitionKey, { closes: true })).copied;
      },
    });
  }

  #text(partitionKey: string): string {
    return this.#partitions.textOf(partitionKey);
  }

  /** Makes the tables of a map that will be written shards of it, unless it is too large. */
  #bind(state: MapState): Promise<void> {
    mapRow(this.#map.name, state);
    return this.#bindShards(shardsOfState(state));
  }

  /**
   * As `#bind`, of the shards that a change adds. Those that the map has were bound before: one
   * that is not any more was emptied, and what it does not have would count as deleted.
   */
  async #bindNew(state: Moving): Promise<void> {
    mapRow(this.#map.name, state);
    const { routing, target } = state;
    const concerned = concernedShards(routing, target);
    const bound = shardsOf(routing);
    for (const shard of bound) {
      const table = this.#partitions.shard(shard);
      const found = await ownerOfShard(table);
      if (found !== undefined) requireOwner(table, found, { ...this.#owner(), shard });
      if (!concerned.includes(shard)) continue;
      await requireBound(table, { shard, title: this.#map.title, routing }, howToKeep);
    }
    await this.#bindShards(shardsOf(target).filter((shard) => !bound.includes(shard)));
  }

  async #bindShards(shards: readonly string[]): Promise<void> {
    for (const shard of shards) {
      await bindShard(this.#partitions.shard(shard), { ...this.#owner(), shard });
    }
  }

  /** Before shards are compared with each other. */
  #refuseOtherShards(): Promise<void> {
    return refuseOtherShards(this.#walks.walked(this.#walks.shardNames), this.#owner());
  }

  #owner(): MapOfShard {
    return { map: this.#map.name, control: this.#options.control.table };
  }

  /** What a change makes of a map. Texts that the map has already are left as they are. */
  #changed(state: MapState, change: ShardRouting | RoutingChange | ShardPlan): ShardRouting {
    // A former shard may have been emptied by an earlier call; one that nobody knows is a mistake.
    const leaves = typeof change === 'function' ? change.leaves : undefined;
    if (leaves !== undefined) this.#walks.requireShard(leaves);
    const target = this.#checked(targetOf(state, change));
    const known = new Set(textsOfRouting(state.routing));
    const other = textsOfRouting(target).find(
      // The first range begins with the empty text.
      (text) => text !== '' && !known.has(text) && !this.#rules.isText(text),
    );
    if (other !== undefined) throw new DefinitionError(this.#otherText(other));
    return target;
  }

  #refuseOther(text: string): void {
    if (!this.#rules.isText(text)) throw new ValueError(this.#otherText(text));
  }

  #otherText(text: string): string {
    return `${this.#map.title}: '${text}' is no text of ${this.#rules.wanted}`;
  }

  #checked(routing: ShardRouting): ShardRouting {
    const fault = routingFault(routing);
    if (fault !== undefined) throw new DefinitionError(`${this.#map.title}: ${fault}`);
    for (const shard of shardsOf(routing)) this.#partitions.shard(shard);
    return routing;
  }
}

/** As `shardMapOf`, of a manager, which knows its keys and the restores of its shards. */
export function managedShardMapOf(options: ShardMapOptions, rules: MapRules): ShardMap {
  return new ShardMap(options, rules);
}

/** A shard map. Sends nothing. */
export function shardMapOf(options: ShardMapOptions): ShardMap {
  return new ShardMap(options);
}
