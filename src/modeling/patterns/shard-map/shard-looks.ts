import type { Clock } from '../../../base/clock.js';
import { RequestError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import type { MapState } from './map-state.js';
import {
  bearWitness,
  howToGoOn,
  howToKeep,
  isLedTo,
  leadingOf,
  refuseLost,
  rowsOfMap,
  type ShardWitness,
} from './shard-binding.js';

export interface ShardLooksOptions {
  /** The map, for messages. */
  readonly title: string;
  readonly clock: Clock;
  /** How long what was seen of a shard is used, in milliseconds. */
  readonly refreshMs: number;
}

/** A partition that this program opens. */
export interface OpenedPartition extends ShardWitness {
  readonly shard: string;
  readonly table: TableGateway;
}

/** What this program has seen of the accounts of shards, in which it opens partitions. */
export class ShardLooks {
  readonly #options: ShardLooksOptions;
  readonly #seen = new Map<
    string,
    { readonly atMs: number; readonly witness: ShardWitness | undefined }
  >();

  constructor(options: ShardLooksOptions) {
    this.#options = options;
  }

  /**
   * Before a partition is opened: throws `ModelError` for a shard whose account was emptied. Up to
   * two point reads of each shard in `refreshMs`, and for its witness, which would hide the loss.
   */
  async require({ shard, table, partitionKey }: OpenedPartition, state: MapState): Promise<void> {
    const { title, clock, refreshMs } = this.#options;
    const seen = this.#seen.get(shard);
    const atMs = clock.monotonicMs();
    const isYoung = seen !== undefined && atMs - seen.atMs < refreshMs;
    if (isYoung && seen.witness?.partitionKey !== partitionKey) return;
    const led = { shard, title, ...leadingOf(state) };
    const found = await rowsOfMap(table, led);
    refuseLost(table, led, found.kind, state.phase === 'settled' ? howToKeep : howToGoOn);
    this.#seen.set(shard, { atMs, witness: found.witness });
  }

  /** After a partition was opened. A write where the shard has no witness that the map leads to. */
  async note(
    { shard, table, partitionKey, text }: OpenedPartition,
    state: MapState,
  ): Promise<void> {
    const seen = this.#seen.get(shard);
    const { routing } = state;
    // A map that changes will lead by its target.
    const leading = state.phase === 'settled' ? { routing } : { routing, target: state.target };
    if (seen === undefined) return;
    if (seen.witness !== undefined && isLedTo(shard, seen.witness, leading)) return;
    const witness = { partitionKey, text };
    try {
      await bearWitness(table, witness);
    } catch (error) {
      // The partition is open: the next one that is opened there becomes the witness.
      if (!(error instanceof RequestError)) throw error;
      return;
    }
    this.#seen.set(shard, { ...seen, witness });
  }
}
