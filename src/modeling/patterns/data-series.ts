import { codecOf } from '../definition/codec.js';
import {
  defineEntity,
  keyNamesOf,
  type AnyDefinition,
  type EntityDefinition,
} from '../definition/entity-definition.js';
import type { Properties, Property } from '../definition/property.js';
import type { KeyOf, PartitionOf } from '../definition/shapes.js';
import { rowPropertiesMax } from '../rows/row-size.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import { Entities, type EntitiesOptions } from '../table/entities.js';
import type { TableGateway } from '../table/gateway.js';
import type { PartitionQuery, RowKeyBounds } from '../table/query-plan.js';
import type { TransactionChange } from '../table/transaction.js';

/** Kinds of values that can be summed. */
export type SeriesKind = 'int32' | 'int64' | 'double';

/** The options of a data series. */
export interface SeriesOptions<V extends number | bigint> extends EntitiesOptions {
  /** Values per entity, such as 24 for the hours of a day. Must not change once data is stored. */
  readonly slots: number;
  /** The type of the values, such as `int32()`. */
  readonly value: Property<SeriesKind, V>;
  /**
   * The stored name of a slot, from 0. When absent, `_` and digits of equal width: `_00` to `_23`.
   * Property names cannot begin with a digit.
   */
  readonly slotName?: (slot: number) => string;
}

/** The values of one entity of a series. */
export interface Series<D extends AnyDefinition, V> {
  readonly key: KeyOf<D>;
  /** One for each slot, in order; undefined for empty slots. */
  readonly values: readonly (V | undefined)[];
}

type AnyEntity = Readonly<Record<string, unknown>>;

/**
 * Values that are measured one after another and read together, such as the number of messages in
 * each hour of a day: one entity per day with one property per hour, so that one point read gets
 * everything for a plot. The definition gives the keys, such as employee and day; its other
 * properties must be optional.
 *
 * An entity holds at most 252 properties. For more, define a wide entity.
 */
export class DataSeries<D extends AnyDefinition, V extends number | bigint> {
  readonly definition: D;
  readonly #entities: Entities<AnyDefinition>;
  readonly #slots: readonly string[];

  /** Throws `DefinitionError` for slots that one entity cannot hold. Sends nothing. */
  constructor(definition: D, table: TableGateway, options: SeriesOptions<V>) {
    this.definition = definition;
    this.#slots = Array.from({ length: checkedSlots(definition, options) }, (_, slot) =>
      slotProperty(slot),
    );
    this.#entities = new Entities(withSlots(definition, options), table, options);
  }

  /** One point read. Every slot is undefined when there is no entity yet. */
  async read(key: KeyOf<D>): Promise<Series<D, V>> {
    const entity = await this.#entities.get(key);
    return this.#seriesOf(key, entity ?? {});
  }

  /**
   * The entities of a range of RowKeys, such as the days of a month, in RowKey order; those that
   * were never written are left out. One range read per 1,000.
   */
  async *range(
    query: RowKeyBounds<D> & { readonly partition: PartitionOf<D> },
  ): AsyncGenerator<Series<D, V>, void, undefined> {
    const names = [...keyNamesOf(this.definition)];
    for await (const found of this.#entities.query(query as PartitionQuery<AnyDefinition>)) {
      const entity: AnyEntity = found;
      const key = Object.fromEntries(names.map((name) => [name, entity[name]]));
      yield this.#seriesOf(key as KeyOf<D>, entity);
    }
  }

  /**
   * Stores the value of a slot by one update (merge), without a read; the others stay unchanged.
   * Creates the entity when there is none. Writers of different slots do not conflict.
   */
  async set(key: KeyOf<D>, slot: number, value: V): Promise<void> {
    await this.setAll(key, new Map([[slot, value]]));
  }

  /** One update (merge), without a read, for several slots at once. */
  async setAll(key: KeyOf<D>, values: ReadonlyMap<number, V>): Promise<void> {
    if (values.size > 0) await this.#entities.upsertMerge(this.#withValues(key, values));
  }

  /** The merge of several slots, to join a transaction. */
  setting(key: KeyOf<D>, values: ReadonlyMap<number, V>): TransactionChange {
    const { definition } = this.#entities;
    return {
      addTo: (writes) => {
        if (values.size > 0) writes.upsertMerge(definition, this.#withValues(key, values));
      },
    };
  }

  /**
   * Adds to the value of a slot; an empty one counts as 0. One point read and one update under the
   * entity's ETag, and both again after each conflict, see `Entities.update`. Nothing is lost or
   * counted twice, whatever other writers do. Returns the resulting series. Throws `ValueError`
   * when the sum does not fit.
   */
  async add(key: KeyOf<D>, slot: number, delta: V): Promise<Series<D, V>> {
    const name = this.#slot(slot);
    const next = await this.#entities.update(
      key,
      (current: AnyEntity) => ({ ...current, [name]: sum(current[name], delta) }),
      { ifAbsent: () => ({ ...key, [name]: delta }) },
    );
    return this.#seriesOf(key, next);
  }

  /** An addition to a slot, to join a transaction. */
  adding(key: KeyOf<D>, slot: number, delta: V): TransactionChange {
    const name = this.#slot(slot);
    const change = (current: AnyEntity) => ({ ...current, [name]: sum(current[name], delta) });
    const ifAbsent = () => ({ ...key, [name]: delta });
    const { definition } = this.#entities;
    return { addTo: (writes) => writes.update(definition, key, change, { ifAbsent }) };
  }

  #withValues(key: KeyOf<D>, values: ReadonlyMap<number, V>) {
    const changes = [...values].map(([slot, value]) => [this.#slot(slot), value] as const);
    return { ...key, ...Object.fromEntries(changes) };
  }

  #seriesOf(key: KeyOf<D>, entity: AnyEntity): Series<D, V> {
    return { key, values: this.#slots.map((name) => entity[name] as V | undefined) };
  }

  #slot(slot: number): string {
    const name = this.#slots[slot];
    if (name !== undefined) return name;
    throw new ValueError(
      `${this.definition.type} has slots from 0 to ${this.#slots.length - 1}, and no ${slot}`,
    );
  }
}

/** The series of a definition in a table. Sends nothing. */
export function dataSeriesOf<D extends AnyDefinition, V extends number | bigint>(
  definition: D,
  table: TableGateway,
  options: SeriesOptions<V>,
): DataSeries<D, V> {
  return new DataSeries(definition, table, options);
}

/** No property in a program is likely to have this name. */
function slotProperty(slot: number): string {
  return `slot ${slot}`;
}

function sum(before: unknown, delta: number | bigint): number | bigint {
  if (typeof delta === 'bigint') return (typeof before === 'bigint' ? before : 0n) + delta;
  return (typeof before === 'number' ? before : 0) + delta;
}

function checkedSlots(definition: AnyDefinition, { slots }: { readonly slots: number }): number {
  const { type, system, properties } = definition;
  const inKeys = keyNamesOf(definition);
  const own = Object.entries(properties).filter(
    ([name, { model }]) => !inKeys.has(name) || model.flags.has('stored'),
  );
  const required = own.find(
    ([
      name,
      {
        model: { flags },
      },
    ]) =>
      !inKeys.has(name) &&
      !(['optional', 'default', 'computed'] as const).some((flag) => flags.has(flag)),
  );
  if (required !== undefined) {
    throw new DefinitionError(
      `${type}.${required[0]} is required, and the first value of a series does not bring it`,
    );
  }
  const systemNames = [system.type, system.version, system.writeStamp];
  const kept = systemNames.filter((name) => name !== undefined).length;
  const most = rowPropertiesMax - own.length - kept;
  if (Number.isInteger(slots) && slots >= 1 && slots <= most) return slots;
  throw new DefinitionError(
    `${type}: ${slots} slots; an entity has room for 1 to ${most}, a wide entity for more`,
  );
}

/** The same entities, with a property for each slot. */
function withSlots<V extends number | bigint>(
  definition: AnyDefinition,
  { slots, value, slotName = digitsOf(slots) }: SeriesOptions<V>,
): EntityDefinition {
  const { type, version, system, upgradeFrom } = definition;
  if (upgradeFrom !== undefined) {
    throw new DefinitionError(`${type}: a series cannot be upgraded from an older version`);
  }
  const names = Array.from({ length: slots }, (_, slot) => slot);
  const properties: Properties = {
    ...definition.properties,
    ...Object.fromEntries(
      names.map((slot) => [slotProperty(slot), value.named(slotName(slot)).optional()]),
    ),
  };
  const series = defineEntity({
    type,
    version,
    properties,
    partitionKey: () => definition.partitionKey,
    rowKey: () => definition.rowKey,
    system: {
      type: system.type ?? false,
      version: system.version,
      writeStamp: system.writeStamp ?? false,
    },
  });
  // Throws now instead of at the first write when the definition is invalid.
  codecOf(series);
  return series;
}

function digitsOf(slots: number): (slot: number) => string {
  const width = Math.max(2, String(slots - 1).length);
  return (slot) => `_${String(slot).padStart(width, '0')}`;
}
