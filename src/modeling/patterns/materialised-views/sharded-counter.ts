import { systemRandomness, type Randomness } from '../../../base/randomness.js';
import { keyNamesOf, type AnyDefinition } from '../../definition/entity-definition.js';
import { codecOf } from '../../definition/codec.js';
import type { KeyOf, ReadOf } from '../../definition/shapes.js';
import { DefinitionError } from '../../rows/model-error.js';
import { Entities, type EntitiesOptions } from '../../table/entities.js';
import type { TableGateway } from '../../table/gateway.js';
import { checkMeasures, pick, plus, type MeasureNames, type Numbers } from './measures.js';

/** Which counter, and over how many rows it is spread. */
export interface ShardedCounterOptions<
  V extends AnyDefinition,
  S extends keyof KeyOf<V>,
  M extends MeasureNames<V>,
> extends EntitiesOptions {
  /** The property of the keys that holds the shard's number: an `int32()`. */
  readonly shard: S;
  /** How many shards there are, 1 to 1000. May grow at any time, and must not shrink. */
  readonly shards: number;
  /** The numbers that are counted; they need defaults. */
  readonly measures: readonly M[];
  /** Shards read at a time. 8 when absent. */
  readonly concurrency?: number;
}

/** What the caller names a counter by. */
export type CounterKey<V extends AnyDefinition, S extends keyof KeyOf<V>> = Omit<KeyOf<V>, S>;

/** The sums of a counter. */
export type Sums<V extends AnyDefinition, M extends MeasureNames<V>> = Pick<
  ReadOf<V>,
  M & keyof ReadOf<V>
>;

const shardsMax = 1000;
const concurrencyDefault = 8;

/**
 * A counter that many writers change at the same time: each addition goes to one of several
 * entities by chance, and a read adds them up. Where the shard is a part of the PartitionKey, the
 * shards are spread over partitions, and no partition takes all additions.
 *
 * Requests: an addition is a point read and an update of one shard, both again for each writer who
 * was faster there. A read is a point read of each shard. A read while others add sees some of
 * their additions and not others, each whole.
 */
export class ShardedCounter<
  V extends AnyDefinition,
  S extends keyof KeyOf<V>,
  M extends MeasureNames<V>,
> {
  readonly #entities: Entities<V>;
  readonly #options: ShardedCounterOptions<V, S, M>;
  readonly #randomness: Randomness;

  /** Sends nothing. Throws `DefinitionError` for a definition or numbers that cannot work. */
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
    this.#options = options;
    this.#randomness = randomness;
    this.#entities = new Entities(definition, table, options);
    // Fails now when the highest number does not fit the key.
    formatHighest(definition, shard, shards - 1);
  }

  /**
   * Adds to a counter; what was never added to counts as 0. Throws `ContentionError` when too many
   * writers meet: more shards help.
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
    await Promise.all(Array.from({ length: Math.max(1, concurrency) }, work));
    const found: unknown = sums;
    return found as Sums<V, M>;
  }

  /** Evenly enough: the remainder of 32 bits favours no shard by more than one in four million. */
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
