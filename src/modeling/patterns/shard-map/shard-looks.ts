import { SharedRuns } from '../../../base/async/shared-runs.js';
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
  type RowsOfMap,
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
  readonly #seen = new Map<string, SeenShard>();
  readonly #runs = new SharedRuns();

  constructor(options: ShardLooksOptions) {
    this.#options = options;
  }

  /**
   * Before a partition is opened: throws `ModelError` for a shard whose account was emptied. Up to
   * two point reads of each shard in `refreshMs`, which partitions that are opened at the same time
   * share, and for its witness, which would hide the loss.
   */
  async require(opened: OpenedPartition, state: MapState): Promise<void> {
    const { shard, table, partitionKey } = opened;
    const led = { shard, title: this.#options.title, ...leadingOf(state) };
    let hasLooked = false;
    const look = async (): Promise<void> => {
      hasLooked = true;
      const atMs = this.#options.clock.monotonicMs();
      this.#seen.set(shard, { atMs, ...(await rowsOfMap(table, led)) });
    };
    const isWitness = (): boolean => this.#seen.get(shard)?.witness?.partitionKey === partitionKey;
    if (this.#isKnown(shard) && !isWitness()) return;
    await this.#runs.run(`look ${state.version} ${shard}`, undefined, async () => {
      // Another call may have looked meanwhile.
      if (!this.#isKnown(shard)) await look();
    });
    if (!hasLooked && isWitness()) await look();
    const instead = state.phase === 'settled' ? howToKeep : howToGoOn;
    refuseLost(table, led, this.#seen.get(shard)?.kind ?? 'unbound', instead);
  }

  /**
   * After a partition was opened. A write where the shard has no witness that the map leads to; one
   * of several that are opened at the same time.
   */
  async note(opened: OpenedPartition, state: MapState): Promise<void> {
    const { shard } = opened;
    const { routing } = state;
    // A map that changes will lead by its target.
    const leading = state.phase === 'settled' ? { routing } : { routing, target: state.target };
    const isBorne = (): boolean => {
      const seen = this.#seen.get(shard);
      if (seen === undefined) return true;
      return seen.witness !== undefined && isLedTo(shard, seen.witness, leading);
    };
    if (isBorne()) return;
    await this.#runs.run(`note ${state.version} ${shard}`, undefined, async () => {
      if (!isBorne()) await this.#bear(opened);
    });
  }

  async #bear({ shard, table, partitionKey, text }: OpenedPartition): Promise<void> {
    const witness = { partitionKey, text };
    try {
      await bearWitness(table, witness);
    } catch (error) {
      // The partition is open: the next one that is opened there becomes the witness.
      if (!(error instanceof RequestError)) throw error;
      return;
    }
    const seen = this.#seen.get(shard);
    if (seen !== undefined) this.#seen.set(shard, { ...seen, witness });
  }

  /** Whether the shard was found whole lately. */
  #isKnown(shard: string): boolean {
    const { clock, refreshMs } = this.#options;
    const seen = this.#seen.get(shard);
    return seen?.kind === 'bound' && clock.monotonicMs() - seen.atMs < refreshMs;
  }
}

/** What was seen of a shard. */
interface SeenShard {
  readonly atMs: number;
  readonly kind: RowsOfMap;
  readonly witness: ShardWitness | undefined;
}
