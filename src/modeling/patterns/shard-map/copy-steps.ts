import type { Timers } from '../../../base/async/timers.js';
import { losingShards } from '../../../placement/losing-shards.js';
import { shardOfText } from '../../../placement/shard-routing.js';
import { ModelError } from '../../rows/model-error.js';
import { claimPartition, closePartition, epochOf } from './fence.js';
import type { MapPhases, Moving } from './map-phases.js';
import type { ClosedAccess, MapState } from './map-state.js';
import type { MapWalks } from './map-walks.js';
import { copyPartition, differencesOf, hasContent } from './partition-copy.js';
import { nothing, requirePace, type ShardReport, type WalkedShard } from './partition-walk.js';
import type { Partitions } from './partitions.js';
import { requireBound } from './shard-binding.js';
import { StaleMapError } from './shard-errors.js';
import type { RequireWhole, ShardStepOptions } from './shard-map-options.js';
import type { StoredMap } from './stored-map.js';

export interface CopyStepsOptions {
  readonly map: StoredMap;
  readonly phases: MapPhases;
  readonly partitions: Partitions;
  readonly walks: MapWalks;
  readonly timers: Timers;
  readonly requireWhole: RequireWhole;
}

/** The steps of the phase `copying`, over the partitions that will move. */
export class CopySteps {
  readonly #options: CopyStepsOptions;

  constructor(options: CopyStepsOptions) {
    this.#options = options;
  }

  /** As `ShardMap.close`. */
  async close(access: ClosedAccess, options: ShardStepOptions): Promise<MapState> {
    requirePace(options);
    const { map, phases, partitions, timers, requireWhole } = this.#options;
    // A closed partition cannot be given the epoch by which its copy is recognised as a copy.
    await this.#overMoving('opening', options, async (_state, { name, table }, partitionKey) => {
      if ((await epochOf(table, partitionKey)) > 0) return 0;
      // Nothing will be copied. What is there is the claim of a program that was killed, perhaps
      // because this step, which goes on, had closed the partition.
      if (!(await hasContent(table, partitionKey))) return 0;
      await requireWhole([name]);
      return (await partitions.settle(partitionKey)).copied;
    });
    const closed = await map.change('closing', (state) => {
      if (state.phase !== 'copying') throw phases.error(state, ['copying']);
      if (state.access === access) return state;
      return { ...state, version: state.version + 1, access };
    });
    await this.#overMoving('closing', options, async (_state, { table }, partitionKey) => {
      await closePartition(table, partitionKey, { timers });
      return 0;
    });
    return closed;
  }

  /** As `ShardMap.backfill`. */
  async backfill(options: ShardStepOptions): Promise<ShardReport> {
    const { map, partitions, requireWhole } = this.#options;
    return this.#overMoving('backfill', options, async (state, from, partitionKey) => {
      const target = shardOfText(state.target, partitions.textOf(partitionKey));
      const to = partitions.shard(target);
      const source = from.table;
      if ((await epochOf(source, partitionKey)) === 0) {
        // A partition that nobody has opened has at most an abandoned claim.
        if (!(await hasContent(source, partitionKey))) return 0;
        // Opening gives it an epoch, by which its copy is recognised as a copy.
        await requireWhole([from.name]);
        await partitions.settle(partitionKey);
      }
      return partitions.untilDone(`copying '${partitionKey}'`, async () => {
        const claim = await claimPartition(to, partitionKey);
        const { version, phase } = await map.fresh();
        if (version !== state.version) throw new StaleMapError(`the map is ${phase}, not copying`);
        if (claim === undefined) {
          throw new ModelError(`'${partitionKey}' is open in ${to.table}, where it should come`);
        }
        await requireWhole([from.name, target]);
        // What an emptied shard does not have would count as deleted.
        const led = { shard: from.name, title: map.title, routing: state.routing };
        const requireSource = (): Promise<void> => requireBound(source, led);
        await requireSource();
        return copyPartition(source, claim, requireSource);
      });
    });
  }

  /** As `ShardMap.verify`. */
  async verify(options: ShardStepOptions): Promise<ShardReport> {
    const { partitions } = this.#options;
    return this.#overMoving('verify', options, (state, from, partitionKey) => {
      const to = partitions.shard(shardOfText(state.target, partitions.textOf(partitionKey)));
      return differencesOf(from.table, to, partitionKey);
    });
  }

  async #overMoving(
    step: 'backfill' | 'closing' | 'opening' | 'verify',
    options: ShardStepOptions,
    work: (state: Moving, from: WalkedShard, partitionKey: string) => Promise<number>,
  ): Promise<ShardReport> {
    const { map, phases, partitions, walks } = this.#options;
    requirePace(options);
    const state = await map.fresh();
    if (state.phase === 'handing-over' || state.phase === 'handed-over') return nothing;
    if (state.phase !== 'copying') throw phases.error(state, ['copying']);
    return walks.again({
      step,
      state,
      shards: losingShards(state.routing, state.target),
      options,
      work: async (shard, partitionKey) => {
        const text = partitions.textOf(partitionKey);
        const isHere = shardOfText(state.routing, text) === shard.name;
        if (!isHere || shardOfText(state.target, text) === shard.name) return undefined;
        return work(state, shard, partitionKey);
      },
    });
  }
}
