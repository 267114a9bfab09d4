import { requireCounts } from '../../definition/count.js';
import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { keyNamesOf, type AnyDefinition } from '../../definition/entity-definition.js';
import { codecOf } from '../../definition/codec.js';
import type { KeyOf, NumberNames, ReadOf } from '../../definition/shapes.js';
import { DefinitionError } from '../../rows/model-error.js';
import { Entities, type EntitiesOptions } from '../../table/entities.js';
import type { TableGateway } from '../../table/gateway.js';
import { checkMeasures, pick, plus, type Numbers } from './measures.js';

/** A sharded counter, and its number of shards. */
export interface ShardedCounterOptions<
  V extends AnyDefinition,
  S extends keyof KeyOf<V>,
  M extends NumberNames<V>,
> extends EntitiesOptions {
  /** The property of the keys with the number of the shard: an `int32()`. */
  readonly shard: S;
  /** The number of shards, 1 to 1000. May grow at any time, and must not shrink. */
  readonly shards: number;
  /** The properties that count; they need defaults. */
  readonly measures: readonly M[];
  /** Shards read concurrently. 8 when absent. */
  readonly concurrency?: number;
}

/** The key of a counter, without the shard. */
export type CounterKey<V extends AnyDefinition, S extends keyof KeyOf<V>> = Omit<KeyOf<V>, S>;

/** The sums of a counter. */
export type Sums<V extends AnyDefinition, M extends NumberNames<V>> = Pick<
  ReadOf<V>,
  M & keyof ReadOf<V>
>;

const shardsMax = 1000;
const concurrencyDefault = 8;

/**
 * A counter for many concurrent writers: each addition goes to a random one of several entities,
 * and a read adds them up. When the shard is a part of the PartitionKey, the shards are spread over
 * partitions, and no partition takes all additions.
 *
 * An addition sends a point read and an update of one shard, and both again after each conflict
 * there. A read sends a point read of each shard. Additions during a read are seen completely or
 * not at all, each by itself.
 */
export class ShardedCounter<
  V extends AnyDefinition,
  S extends keyof KeyOf<V>,
  M extends NumberNames<V>,
> {
  readonly #entities: Entities<V>;
  readonly #options: ShardedCounterOptions<V, S, M>;
  readonly #randomness: Randomness;

  /** Throws `DefinitionError` for an unsuitable definition or impossible numbers. Sends nothing. */
  constructor(definition: V, table: TableGateway, options: ShardedCounterOptions<V, S, M>) {
    const { shard, shards, measures, randomness = systemRandomness } = options;
    checkMeasures(definition, namesOf(measures));
    const kind = definition.properties[shard]?.model.kind;
    if (kind !== 'int32' || !keyNamesOf(definition).has(shard)) {
      throw new DefinitionError(`${definition.type}.${shard} is no int32() of the keys`);
    }
    if (!Number.isInteger(shards) || shards < 1 || shards > shardsMax) {
      throw new DefinitionError(`${shards} shards: give 1 to ${shardsMax}`);
    }
    requireCounts({ concurrency: options.concurrency });
    this.#options = options;
    this.#randomness = randomness;
    this.#entities = new Entities(definition, table, options);
    // Throws now when the highest number does not fit into the key.
    formatHighest(definition, shard, shards - 1);
  }

  /**
   * Adds to a counter, which starts at 0. Throws `ContentionError` after too many conflicts: more
   * shards help.
   */
  async add(key: CounterKey<V, S>, delta: Partial<Sums<V, M>>): Promise<void> {
    const { shard, shards } = this.#options;
    const shardKey = { ...key, [shard]: this.#anyOf(shards) } as unknown;
    const numbers = delta as Numbers;
    await this.#entities.update(
      shardKey as KeyOf<V>,
      (current) => ({ ...current, ...plus(pick(current, numbers), numbers) }),
      { ifAbsent: () => ({ ...(shardKey as KeyOf<V>), ...numbers }) },
    );
  }

  /** The sums over all shards. */
  async read(key: CounterKey<V, S>): Promise<Sums<V, M>> {
    const { shard, shards, measures, concurrency = concurrencyDefault } = this.#options;
    let sums = zeros(this.#entities.definition, measures);
    let next = 0;
    const work = async (): Promise<void> => {
      for (let number = next++; number < shards; number = next++) {
        const shardKey = { ...key, [shard]: number } as unknown;
        const found = await this.#entities.get(shardKey as KeyOf<V>);
        if (found !== undefined) sums = plus(sums, pick(found, namesOf(measures)));
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    const found: unknown = sums;
    return found as Sums<V, M>;
  }

  /** Nearly uniform: the remainder of 32 bits favours no shard by more than one in four million. */
  #anyOf(shards: number): number {
    const [a = 0, b = 0, c = 0, d = 0] = this.#randomness.bytes(4);
    return (((a << 24) | (b << 16) | (c << 8) | d) >>> 0) % shards;
  }
}

function namesOf(measures: readonly string[]): Readonly<Record<string, true>> {
  return Object.fromEntries(measures.map((name) => [name, true]));
}

function zeros({ properties }: AnyDefinition, measures: readonly string[]): Numbers {
  const zeroOf = (name: string) => (properties[name]?.model.kind === 'int64' ? 0n : 0);
  return Object.fromEntries(measures.map((name) => [name, zeroOf(name)]));
}

function formatHighest(definition: AnyDefinition, shard: string, highest: number): void {
  const { partitionKey, rowKey } = definition;
  codecOf(definition);
  for (const { property, format } of [...partitionKey.parts, ...rowKey.parts]) {
    if (property === shard) format.format(highest);
  }
}

/** A sharded counter. Throws `DefinitionError` when the definition cannot be one. Sends nothing. */
export function shardedCounterOf<
  V extends AnyDefinition,
  S extends keyof KeyOf<V>,
  M extends NumberNames<V>,
>(
  definition: V,
  table: TableGateway,
  options: ShardedCounterOptions<V, S, M>,
): ShardedCounter<V, S, M> {
  return new ShardedCounter(definition, table, options);
}
