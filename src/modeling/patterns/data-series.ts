import { codecOf } from '../definition/codec.js';
import {
  defineEntity,
  keyNamesOf,
  type AnyDefinition,
  type EntityDefinition,
} from '../definition/entity-definition.js';
import type { Properties, Property } from '../definition/property.js';
import type { KeyOf } from '../definition/shapes.js';
import { rowPropertiesMax } from '../rows/row-size.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import { Entities, type EntitiesOptions } from '../table/entities.js';
import type { TableGateway } from '../table/gateway.js';

/** Kinds of values that can be added up. */
export type SeriesKind = 'int32' | 'int64' | 'double';

/** How the values of an entity are stored. */
export interface SeriesOptions<V extends number | bigint> extends EntitiesOptions {
  /** How many values an entity holds, such as 24 for the hours of a day. Part of the layout. */
  readonly slots: number;
  /** What they are, such as `int32()`. */
  readonly value: Property<SeriesKind, V>;
  /**
   * The stored name of a slot, from 0. When absent, `_` and digits of one width: `_00` to `_23`.
   * Names of properties cannot begin with a digit.
   */
  readonly slotName?: (slot: number) => string;
}

/** The values of one entity of a series. */
export interface Series<D extends AnyDefinition, V> {
  readonly key: KeyOf<D>;
  /** One for each slot, in order; undefined where nothing was stored. */
  readonly values: readonly (V | undefined)[];
}

type AnyEntity = Readonly<Record<string, unknown>>;

/**
 * Values that are measured one after another and read together, such as the messages of each hour
 * of a day: one entity a day with a property an hour, so that one point read has all that a plot
 * needs. The definition gives the keys, such as employee and day; other properties of it must be
 * optional.
 *
 * An entity holds at most 252 properties. For more, define a wide entity.
 */
export class DataSeries<D extends AnyDefinition, V extends number | bigint> {
  readonly definition: D;
  readonly #entities: Entities<AnyDefinition>;
  readonly #slots: readonly string[];

  /** Sends nothing. Throws `DefinitionError` for slots that one entity cannot hold. */
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
   * One update (merge), without a read: the slot has this value afterwards, the others keep theirs.
   * The entity is made when there is none. Writers of different slots do not disturb each other.
   */
  async set(key: KeyOf<D>, slot: number, value: V): Promise<void> {
    await this.setAll(key, new Map([[slot, value]]));
  }

  /** One update (merge), without a read, for several slots at once. */
  async setAll(key: KeyOf<D>, values: ReadonlyMap<number, V>): Promise<void> {
    if (values.size === 0) return;
    const changes = [...values].map(([slot, value]) => [this.#slot(slot), value] as const);
    await this.#entities.upsertMerge({ ...key, ...Object.fromEntries(changes) });
  }

  /**
   * Adds to what a slot holds; an empty one counts as 0. One point read and one update under the
   * entity's ETag; both again for each other writer that was faster, see `Entities.update`. Nothing
   * is lost or counted twice among any writers. Gives the series as it is then. Throws `ValueError`
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

/** No property of a definition in TypeScript is likely to have this name. */
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
  // Fails now, and not at the first write, when the definition cannot be used.
  codecOf(series);
  return series;
}

function digitsOf(slots: number): (slot: number) => string {
  const width = Math.max(2, String(slots - 1).length);
  return (slot) => `_${String(slot).padStart(width, '0')}`;
}
