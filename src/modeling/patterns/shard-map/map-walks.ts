import type { TableGateway } from '../../table/gateway.js';
import type { Partitions } from './partitions.js';
import {
  forgetProgress,
  requirePace,
  walkPartitions,
  type ShardReport,
  type WalkedShard,
} from './partition-walk.js';
import type { MapState } from './map-state.js';
import { noTable } from './shard-errors.js';
import type { ShardStepOptions } from './shard-map-options.js';

export interface MapWalksOptions {
  readonly map: string;
  readonly control: TableGateway;
  readonly partitions: Pick<Partitions, 'shard'>;
  /** The shards that the program has a table for. */
  readonly shardNames: readonly string[];
}

/** What is done with each partition of some shards. */
export interface MapWalk {
  readonly step: string;
  /** The map that the step is based on: another version walks from the beginning. */
  readonly state: MapState;
  readonly shards: readonly string[];
  readonly options: ShardStepOptions;
  /** Returns the rows copied or the like; undefined when the partition is skipped. */
  readonly work: (shard: WalkedShard, partitionKey: string) => Promise<number | undefined>;
}

/** The walks over the partitions of one map. */
export class MapWalks {
  readonly #options: MapWalksOptions;

  constructor(options: MapWalksOptions) {
    this.#options = options;
  }

  /** Every shard that the program has a table for, sorted. */
  get shardNames(): readonly string[] {
    return this.#options.shardNames.toSorted();
  }

  /** Throws `UnknownShardError` for a shard that the program has no table for. */
  requireShard(shard: string): void {
    if (!this.#options.shardNames.includes(shard)) throw noTable(shard);
  }

  walked(names: readonly string[]): readonly WalkedShard[] {
    return names.map((name) => ({ name, table: this.#options.partitions.shard(name) }));
  }

  /** A walk after which the phase of the map changes. */
  once({ step, state, shards, options, work }: MapWalk): Promise<ShardReport> {
    requirePace(options);
    const { map, control } = this.#options;
    const id = `${state.version} ${step}`;
    return walkPartitions({ id, map, control, shards: this.walked(shards), work }, options);
  }

  /** A walk that can be repeated when it is complete. */
  async again(walk: MapWalk): Promise<ShardReport> {
    const report = await this.once(walk);
    await forgetProgress(this.#options);
    return report;
  }
}
