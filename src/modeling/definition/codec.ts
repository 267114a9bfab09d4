import { own, setOwn } from '../../base/own.js';
import { DecodeError, ModelError, TooLargeError, ValueError } from '../rows/model-error.js';
import { placeOfKey } from '../rows/row-parts.js';
import { sameValue } from '../rows/same-value.js';
import { rowBytes, rowBytesMax, rowPropertiesMax } from '../rows/row-size.js';
import {
  type Row,
  type RowKey,
  type RowProperties,
  type StoredRow,
  type WireValue,
} from '../rows/row.js';
import type { AnyDefinition } from './entity-definition.js';
import {
  absentValue,
  completeValues,
  fieldsOf,
  mergedValues,
  storedNamesOf,
  type Field,
  type Values,
} from './entity-fields.js';
import { EntityKeys } from './entity-keys.js';
import { RowBuilder, RowReader } from './entity-row.js';
import type { KeyRange } from './key-template.js';
import type { PropertyModel } from './property.js';
import type { CreateOf, KeyOf, MergeOf, PartitionOf, ReadOf, RowKeyPrefixOf } from './shapes.js';
import { storedAs, storedAsOf, type Stored, type StoredAs } from './stored-entity.js';
import { isOutdated, rowVersion } from './row-version.js';
import { refuseUnknownNames, unknownName } from './unknown-name.js';

/** An extra property of a row, besides those of its entity. */
export interface Mark {
  readonly name: string;
  readonly wire: WireValue;
}

/** What the computed properties of a row should be, by their stored names. */
export interface StaleComputed {
  readonly properties: RowProperties;
  /** Which of these are to be encrypted. */
  readonly encrypt: readonly string[];
}

/** An entity with all of its values, to be inserted. */
export type Completed<D extends AnyDefinition> = Stored<ReadOf<D>> & CreateOf<D>;

/** Converts between the entities of a definition and rows. Does no I/O. */
export interface EntityCodec<D extends AnyDefinition> {
  readonly definition: D;
  /**
   * The row of an entity: fills in defaults, computes computed properties, adds type and version,
   * and keeps the unknown properties of an entity that was read. Throws `ValueError`.
   */
  toRow(entity: CreateOf<D> | ReadOf<D>, mark?: Mark): Row;
  /**
   * As `toRow`, for a row that is only read and never stored: there is no limit of size, because
   * defaults, the type or an upgrade may add to the stored row.
   */
  shownRow(entity: CreateOf<D> | ReadOf<D>): Row;
  /**
   * The entity from which `toRow` makes the row, with the values of defaults that are functions, so
   * that decisions and the stored row use the same values. Throws `ValueError`.
   */
  complete(entity: CreateOf<D>): Completed<D>;
  /**
   * The row of an insert-or-merge: as `toRow`, but absent properties stay absent instead of getting
   * their defaults. Throws `ValueError`.
   */
  toUpsertMergeRow(entity: CreateOf<D>, mark?: Mark): Row;
  /** The row of a merge, with only the changed properties. Throws `ValueError`. */
  toMergeRow(key: KeyOf<D>, changes: MergeOf<D>, mark?: Mark): Row;
  /**
   * Decodes a row, upgrading it when its version is older. Throws `DecodeError` when the row has
   * another type or a newer version, or lacks a required property.
   */
  fromRow(row: StoredRow): Stored<ReadOf<D>>;
  /**
   * As `fromRow`, for a row read with `select`: the entity has only these properties and those of
   * the keys.
   */
  fromPartialRow(row: StoredRow, names: readonly string[]): Stored<Partial<ReadOf<D>>>;
  /** As `fromRow` or `fromPartialRow`; undefined for a row of another type. */
  fromOwnRow(row: StoredRow, names?: readonly string[]): Stored<Partial<ReadOf<D>>> | undefined;
  /**
   * How the stored computed properties of a row differ from those computed from its other values,
   * because their writer did not know the definition. Undefined when none does, and for a row of an
   * older version.
   */
  staleComputed(row: StoredRow): StaleComputed | undefined;
  /** Whether a row is of this type, by its keys and by its type property, if it has one. */
  matches(row: Row): boolean;
  key(key: KeyOf<D>): RowKey;
  partitionKey(partition: PartitionOf<D>): string;
  /** Throws `DecodeError` for keys that do not match the templates of this definition. */
  parseKey(key: RowKey): KeyOf<D>;
  /**
   * The range of RowKeys whose leading parts have these values; undefined when it is all RowKeys.
   */
  rowKeyRange(leading: RowKeyPrefixOf<D>): KeyRange | undefined;
  /**
   * The stored names to select for some properties, with those of type and version. Undefined when
   * the definition has older versions, because an upgrade needs all properties.
   */
  selectOf(names: readonly string[]): readonly string[] | undefined;
}

const codecs = new WeakMap<AnyDefinition, unknown>();

/** The codec of a definition; cached. */
export function codecOf<D extends AnyDefinition>(definition: D): EntityCodec<D> {
  const known = codecs.get(definition) as EntityCodec<D> | undefined;
  if (known !== undefined) return known;
  const codec = new DefinitionCodec(definition);
  codecs.set(definition, codec);
  return codec;
}

const none: readonly string[] = Object.freeze([]);

interface Decoding {
  readonly keyValues: Values;
  readonly version: number;
  readonly isPartial: boolean;
}

class DefinitionCodec<D extends AnyDefinition> implements EntityCodec<D> {
  readonly definition: D;
  readonly #keys: EntityKeys;
  readonly #fields: readonly Field[];
  readonly #names: readonly string[];
  readonly #knownNames: ReadonlySet<string>;
  readonly #encrypted: readonly string[];
  readonly #large: readonly string[];
  /** Stored names. */
  readonly #computed: readonly string[];

  constructor(definition: D) {
    this.definition = definition;
    this.#keys = new EntityKeys(definition);
    this.#fields = fieldsOf(definition);
    this.#names = this.#fields.map(({ name }) => name);
    const { type, version } = definition.system;
    this.#knownNames = new Set([
      ...this.#fields.filter(({ isStored }) => isStored).flatMap(storedNamesOf),
      ...(type === undefined ? [] : [type]),
      version,
    ]);
    this.#encrypted = this.#fields
      .filter(({ model }) => model.flags.has('encrypted'))
      .flatMap(storedNamesOf);
    this.#computed = this.#fields
      .filter(({ model, isStored }) => model.computation !== undefined && isStored)
      .flatMap(storedNamesOf);
    this.#large = this.#fields.filter(({ model }) => model.isLarge === true).flatMap(storedNamesOf);
  }

  toRow(entity: CreateOf<D> | ReadOf<D>, mark?: Mark): Row {
    return this.#fitting(this.#toRow(entity, defaultOf, mark));
  }

  shownRow(entity: CreateOf<D> | ReadOf<D>): Row {
    return this.#toRow(entity, defaultOf);
  }

  complete(entity: CreateOf<D>): Completed<D> {
    const whole = this.fromRow({ ...this.toRow(entity), etag: '', timestamp: 0n });
    return whole as Completed<D>;
  }

  toUpsertMergeRow(entity: CreateOf<D>, mark?: Mark): Row {
    this.#refuseMergeOfEncrypted();
    return this.#fitting(this.#toRow(entity, noDefault, mark));
  }

  #toRow(entity: object, absent: (model: PropertyModel) => unknown, mark?: Mark): Row {
    const before = storedAsOf(entity);
    if (before?.isPartial === true) {
      throw new ValueError(
        `${this.definition.type}: only some properties of the entity were selected; ` +
          'writing it would lose the others',
      );
    }
    const { type } = this.definition;
    refuseUnknownNames(type, entity, this.#names);
    const values = completeValues(type, this.#fields, entity as Values, absent);
    const row = new RowBuilder(before);
    this.#writeSystem(row);
    for (const field of this.#fields) {
      if (!field.isStored) continue;
      const value = values[field.name];
      if (value === undefined || value === null) continue;
      this.#write(field, value, row);
    }
    if (mark !== undefined) row.put(mark.name, mark.wire);
    return this.#marked(this.#keys.format(values), row.properties, before?.encrypted);
  }

  toMergeRow(key: KeyOf<D>, changes: MergeOf<D>, mark?: Mark): Row {
    const { type } = this.definition;
    this.#refuseMergeOfEncrypted();
    const row = new RowBuilder();
    const values = mergedValues(type, this.#fields, changes);
    for (const field of this.#fields) {
      const value = values[field.name];
      if (value !== undefined) this.#write(field, value, row);
    }
    if (mark !== undefined) row.put(mark.name, mark.wire);
    return this.#fitting(this.#marked(this.key(key), row.properties));
  }

  fromRow(row: StoredRow): Stored<ReadOf<D>> {
    const version = this.#versionOf(row);
    return this.#fromRow(row, version, () => this.#keys.read(row));
  }

  fromPartialRow(row: StoredRow, names: readonly string[]): Stored<Partial<ReadOf<D>>> {
    const version = this.#versionOf(row);
    return this.#fromPartialRow(row, names, { keyValues: this.#keys.read(row), version });
  }

  fromOwnRow(row: StoredRow, names?: readonly string[]): Stored<Partial<ReadOf<D>>> | undefined {
    const keyValues = this.#ownKeys(row);
    if (keyValues === undefined) return undefined;
    const version = this.#versionOf(row);
    if (names !== undefined) return this.#fromPartialRow(row, names, { keyValues, version });
    return this.#fromRow(row, version, () => keyValues);
  }

  /** The values of the keys; undefined for a row of another type. */
  #ownKeys(row: Row): Values | undefined {
    const { type, system } = this.definition;
    const told = system.type === undefined ? undefined : own(row.properties, system.type);
    return told !== undefined && told.value !== type ? undefined : this.#keys.parse(row);
  }

  #fromRow(row: StoredRow, version: number, keyValues: () => Values): Stored<ReadOf<D>> {
    if (version < this.definition.version) return this.#upgraded(row, version);
    const how = { keyValues: keyValues(), version, isPartial: false };
    return this.#decode(row, this.#fields, how) as Stored<ReadOf<D>>;
  }

  #fromPartialRow(
    row: StoredRow,
    names: readonly string[],
    known: Omit<Decoding, 'isPartial'>,
  ): Stored<Partial<ReadOf<D>>> {
    const isWanted = ({ name, isInKeys }: Field): boolean => isInKeys || names.includes(name);
    if (known.version < this.definition.version) {
      const whole = this.fromRow(row);
      const wanted = this.#fields
        .filter((field) => isWanted(field) && valueIn(whole, field.name) !== undefined)
        .map(({ name }) => [name, valueIn(whole, name)]);
      return this.#partial(Object.fromEntries(wanted) as Values, whole[storedAs]);
    }
    const how = { ...known, isPartial: true };
    return this.#decode(row, this.#fields.filter(isWanted), how) as Stored<Partial<ReadOf<D>>>;
  }

  staleComputed(row: StoredRow): StaleComputed | undefined {
    if (this.#computed.length === 0 || isOutdated(this.definition, row)) return undefined;
    const whole = this.shownRow(this.fromRow(row));
    const properties: Record<string, WireValue> = {};
    for (const name of this.#computed) {
      const [given, stored] = [own(whole.properties, name), own(row.properties, name)];
      if (given === undefined || (stored !== undefined && sameValue(given, stored))) continue;
      setOwn(properties, name, given);
    }
    const stale = Object.keys(properties);
    if (stale.length === 0) return undefined;
    const encrypt = stale.filter((name) => whole.encrypt?.includes(name) === true);
    return { properties, encrypt };
  }

  matches(row: Row): boolean {
    return this.#ownKeys(row) !== undefined;
  }

  key(key: KeyOf<D>): RowKey {
    return this.#keys.format(key);
  }

  partitionKey(partition: PartitionOf<D>): string {
    return this.#keys.formatPartition(partition);
  }

  parseKey(key: RowKey): KeyOf<D> {
    return this.#keys.read(key) as KeyOf<D>;
  }

  rowKeyRange(leading: RowKeyPrefixOf<D>): KeyRange | undefined {
    return this.#keys.rowKeyRange(leading as Values);
  }

  selectOf(names: readonly string[]): readonly string[] | undefined {
    if (this.definition.upgradeFrom !== undefined) return undefined;
    const { type, version } = this.definition.system;
    const stored = names.flatMap((name) => {
      const field = this.#fields.find((each) => each.name === name);
      if (field === undefined) {
        throw new ValueError(unknownName(this.definition.type, name, this.#names));
      }
      if (!field.isStored) return [];
      return [...storedNamesOf(field), ...(field.model.codec.alsoReads ?? none)];
    });
    return [...new Set(stored), ...(type === undefined ? [] : [type]), version];
  }

  #partial(values: Values, stored: StoredAs): Stored<Partial<ReadOf<D>>> {
    const entity: unknown = { ...values, [storedAs]: { ...stored, isPartial: true } };
    return entity as Stored<Partial<ReadOf<D>>>;
  }

  #refuseMergeOfEncrypted(): void {
    if (this.#encrypted.length === 0) return;
    throw new ValueError(
      `${this.definition.type} has encrypted properties: a merge would lose their key`,
    );
  }

  #write({ name, model, stored }: Field, value: unknown, row: RowBuilder): void {
    try {
      model.codec.write(stored, value, row);
    } catch (error) {
      if (!(error instanceof ValueError)) throw error;
      throw new ValueError(`${this.definition.type}.${name}: ${error.message}`);
    }
  }

  #writeSystem(row: RowBuilder): void {
    const { type, version, system } = this.definition;
    if (system.type !== undefined) row.put(system.type, { type: 'String', value: type });
    if (version > 1) row.put(system.version, { type: 'Int32', value: version });
  }

  /** The row, with the names of the properties that are to be encrypted. */
  #marked(
    { partitionKey, rowKey }: RowKey,
    properties: RowProperties,
    encryptedBefore: readonly string[] = none,
  ): Row {
    const row: Row = { partitionKey, rowKey, properties };
    if (this.#encrypted.length === 0 && encryptedBefore.length === 0) return row;
    const marked = new Set([...this.#encrypted, ...encryptedBefore]);
    const encrypt = [...marked].filter((name) => Object.hasOwn(row.properties, name));
    return encrypt.length === 0 ? row : { ...row, encrypt };
  }

  /** Throws `TooLargeError` for a row that no table takes. */
  #fitting(row: Row): Row {
    const { properties } = row;
    const bytes =
      this.#large.length === 0
        ? rowBytes(row)
        : rowBytes({ ...row, properties: this.#withoutLarge(properties) });
    const count = Object.keys(properties).length;
    const place = () => `${this.definition.type}: ${placeOfKey(row)}`;
    if (bytes > rowBytesMax) {
      throw new TooLargeError(`${place()} has ${bytes} bytes, more than 1 MiB`);
    }
    if (count > rowPropertiesMax) {
      throw new TooLargeError(`${place()} has ${count} properties, more than ${rowPropertiesMax}`);
    }
    return row;
  }

  /** Large properties do not count: their table compresses, splits or moves them. */
  #withoutLarge(properties: RowProperties): RowProperties {
    const others: Record<string, WireValue> = { ...properties };
    for (const name of this.#large) delete others[name];
    return others;
  }

  #versionOf(row: StoredRow): number {
    const { type, version, system } = this.definition;
    const told = system.type === undefined ? undefined : own(row.properties, system.type);
    if (told !== undefined && told.value !== type) {
      throw this.#fault(row, `is of the type ${String(told.value)}, not ${type}`);
    }
    const found = rowVersion(this.definition, row);
    if (found <= version) return found;
    throw this.#fault(row, `is of version ${found}; this program knows ${type} up to ${version}`);
  }

  #upgraded(row: StoredRow, version: number): Stored<ReadOf<D>> {
    const { upgradeFrom } = this.definition;
    if (upgradeFrom === undefined) {
      throw this.#fault(row, `is of version ${version}, and nothing upgrades it`);
    }
    const old = codecOf(upgradeFrom.from).fromRow(row);
    const upgraded = upgradeFrom.upgrade(old) as Values;
    // An upgrade may copy whole old entities, with properties that the new version gave up.
    const given = Object.keys(upgradeFrom.from.properties);
    refuseUnknownNames(this.definition.type, upgraded, this.#names, given);
    const values = completeValues(this.definition.type, this.#fields, upgraded, defaultOf);
    const key = this.#keys.format(values);
    if (key.partitionKey !== row.partitionKey || key.rowKey !== row.rowKey) {
      throw this.#fault(
        row,
        `would be upgraded to other keys: '${key.partitionKey}', '${key.rowKey}'`,
      );
    }
    const before = old[storedAs];
    const unknown = Object.fromEntries(
      Object.entries(before.unknown).filter(([name]) => !this.#knownNames.has(name)),
    );
    return { ...values, [storedAs]: { ...before, unknown } } as Stored<ReadOf<D>>;
  }

  #decode(row: StoredRow, fields: readonly Field[], how: Decoding): unknown {
    const { keyValues, isPartial } = how;
    const reader = new RowReader(row.properties);
    const values: Record<string | symbol, unknown> = {};
    for (const field of fields) {
      const { name, model, stored } = field;
      if (model.flags.has('encrypted')) this.#refusePlain(row, field);
      let value: unknown;
      try {
        value = field.isInKeys ? keyValues[name] : model.codec.read(stored, reader);
      } catch (cause) {
        if (!(cause instanceof ModelError)) throw cause;
        throw this.#fault(row, `has a '${name}' that cannot be read: ${cause.message}`, cause);
      }
      value ??= isPartial && model.flags.has('optional') ? undefined : absentValue(model);
      if (value !== undefined) values[name] = value;
      else if (!model.flags.has('optional')) {
        throw this.#fault(
          row,
          `lacks '${name}'; the definition can make it optional(), give it a default() or upgrade`,
        );
      }
    }
    values[storedAs] = this.#storedAs(row, reader.finer, how);
    return values;
  }

  /**
   * Refuses a plain value of an encrypted property: another program wrote it, or the table was
   * opened without encryption.
   */
  #refusePlain(row: StoredRow, field: Field): void {
    if (row.acceptsPlain === true) return;
    const isPlain = (wireName: string): boolean =>
      Object.hasOwn(row.properties, wireName) && row.encrypt?.includes(wireName) !== true;
    if (!storedNamesOf(field).some(isPlain)) return;
    throw this.#fault(
      row,
      `has a '${field.name}' that was not decrypted: the table was opened without encryption, or it ` +
        "is stored in plain; while a table is being encrypted, unencrypted: 'accept' reads it",
    );
  }

  #storedAs(row: StoredRow, finer: StoredAs['finer'], { version, isPartial }: Decoding): StoredAs {
    return {
      key: { partitionKey: row.partitionKey, rowKey: row.rowKey },
      etag: row.etag,
      timestamp: row.timestamp,
      version,
      unknown: this.#unknownOf(row.properties),
      encrypted: row.encrypt?.filter((name) => !this.#knownNames.has(name)) ?? none,
      finer,
      isPartial,
    };
  }

  #unknownOf(properties: RowProperties): RowProperties {
    const unknown: Record<string, WireValue> = {};
    for (const name in properties) {
      const wire = properties[name];
      if (wire !== undefined && !this.#knownNames.has(name)) {
        setOwn(unknown, name, wire);
      }
    }
    return unknown;
  }

  #fault({ partitionKey, rowKey }: RowKey, text: string, cause?: unknown): DecodeError {
    return new DecodeError(
      `The row ('${partitionKey}', '${rowKey}') ${text}`,
      cause === undefined ? {} : { cause },
    );
  }
}

function defaultOf(model: PropertyModel): unknown {
  return model.defaultValue?.();
}

function noDefault(): undefined {}

function valueIn(entity: object, name: string): unknown {
  return (entity as Values)[name];
}
