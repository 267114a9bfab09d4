import { own } from '../../base/own.js';
import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { successorOfPrefix, type KeyRange } from '../definition/key-template.js';
import type { ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { systemRandomness } from '../../base/randomness.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import type { RowKey, RowProperties, StoredRow } from '../rows/row.js';
import { retryConflicts, type ContentionOptions } from '../table/contention.js';
import {
  absentEntityError,
  ConditionFailedError,
  type EntityNotFoundError,
} from '../table/errors.js';
import { allOf } from '../table/filter.js';
import type { TableGateway } from '../table/gateway.js';
import { odataString } from '../table/odata.js';
import { RowsQuery, type Query } from '../table/query.js';
import { hasStamp, newStamp, stamped } from '../table/write-stamp.js';

/** An entity of one of several definitions, told apart by `type`. */
export type OneOf<Ds extends readonly AnyDefinition[]> = {
  [I in keyof Ds]: { readonly type: Ds[I]['type']; readonly entity: Stored<ReadOf<Ds[I]>> };
}[number];

/** A row of no definition that is known here: a bag of properties. */
export interface UnknownRow {
  readonly type: undefined;
  readonly row: StoredRow;
}

/** Which rows of one partition, of whatever type. */
export interface MixedQuery {
  /** As stored: `codecOf(Employee).partitionKey({ department: 'Sales' })`. */
  readonly partitionKey: string;
  /** What the RowKeys begin with. Not together with `rowKeys`. */
  readonly prefix?: string;
  readonly rowKeys?: KeyRange;
  /** OData, on stored names. */
  readonly where?: string;
}

/**
 * A table with entities of several types: rows are resolved to their definitions by `EntityType`,
 * or, for definitions that do not store it, by the form of their keys, such as the prefix of the
 * RowKey. Concrete types that inherit from one another share properties:
 * `const person = { … }; defineEntity({ properties: { ...person, salary: double() }, … })`.
 */
export class MixedTable<const Ds extends readonly AnyDefinition[]> {
  readonly #table: TableGateway;
  readonly #definitions: Ds;

  /** Sends nothing. Throws `DefinitionError` when two definitions have the same type. */
  constructor(table: TableGateway, definitions: Ds) {
    this.#table = table;
    this.#definitions = definitions;
    const types = definitions.map(({ type }) => type);
    const twice = types.find((type, index) => types.indexOf(type) !== index);
    if (twice === undefined) return;
    throw new DefinitionError(
      `two definitions have the type '${twice}': rows could not be told apart`,
    );
  }

  /**
   * The entity of a row, by the first definition that it matches. Pure. Throws `DecodeError` for a
   * row that is of a type and is not as its definition says.
   */
  resolve(row: StoredRow): OneOf<Ds> | UnknownRow {
    for (const definition of this.#definitions) {
      const codec = codecOf(definition);
      if (!codec.matches(row)) continue;
      return { type: definition.type, entity: codec.fromRow(row) } as OneOf<Ds>;
    }
    return { type: undefined, row };
  }

  /** One point read. Undefined when there is no such row. */
  async get(key: RowKey): Promise<OneOf<Ds> | UnknownRow | undefined> {
    const row = await this.#table.get(key);
    return row === undefined ? undefined : this.resolve(row);
  }

  /** Rows of one partition, of whatever type, in RowKey order. Nothing is sent before it is run. */
  query({ partitionKey, prefix, rowKeys, where }: MixedQuery): Query<OneOf<Ds> | UnknownRow> {
    if (prefix !== undefined && rowKeys !== undefined) {
      throw new ValueError('a query has a prefix or a range of RowKeys, not both');
    }
    const range = prefix === undefined || prefix === '' ? rowKeys : rangeFrom(prefix);
    const bounds =
      range && `RowKey ge ${odataString(range.from)} and RowKey lt ${odataString(range.before)}`;
    const condition = where === undefined ? undefined : `(${where})`;
    const filter = allOf([`PartitionKey eq ${odataString(partitionKey)}`, bounds, condition]);
    const plan = {
      class: range === undefined ? ('partition-scan' as const) : ('range' as const),
      filters: [filter],
      select: undefined,
      requestsMin: 1,
    };
    return new RowsQuery(this.#table, plan, (row) => this.resolve(row));
  }
}

function rangeFrom(prefix: string): KeyRange {
  return { from: prefix, before: successorOfPrefix(prefix) };
}

/** A table with entities of these definitions. Sends nothing. */
export function mixedTable<const Ds extends readonly AnyDefinition[]>(
  table: TableGateway,
  ...definitions: Ds
): MixedTable<Ds> {
  return new MixedTable(table, definitions);
}

/** How a change of a bag goes on when other writers are faster. */
export interface BagOptions extends ContentionOptions {
  /** The property with write stamps, used when the row has it. `WriteStamp` when absent. */
  readonly writeStamp?: string;
}

/**
 * Changes some properties of a row without a definition: reads it, lets `change` look at the bag of
 * its properties and give new values, with their types, for some of them, and merges these.
 * `change` may run several times; it gives undefined to leave the row as it is. Properties cannot
 * be removed.
 *
 * Requests: a point read and a merge under the row's ETag, both again for each other writer who was
 * faster. Throws `EntityNotFoundError` when there is no such row, `ContentionError` after the last
 * attempt. Gives the properties as they are then.
 */
export async function updateProperties(
  table: TableGateway,
  key: RowKey,
  change: (bag: RowProperties) => RowProperties | undefined,
  options: BagOptions = {},
): Promise<RowProperties> {
  const { writeStamp = 'WriteStamp', randomness = systemRandomness } = options;
  const stamps: string[] = [];
  return retryConflicts(
    `the row '${key.rowKey}'`,
    options,
    async () => {
      const row = await table.get(key);
      if (row === undefined) throw absentRow(table, key);
      const property = own(row.properties, writeStamp) === undefined ? undefined : writeStamp;
      if (hasStamp(row, property, stamps)) return row.properties;
      const changes = change(row.properties);
      if (changes === undefined) return row.properties;
      const stamp = newStamp(randomness);
      stamps.push(stamp);
      const { properties } = stamped(row, property, stamp);
      const mark = property === undefined ? {} : { [property]: properties[property] };
      const merged = { ...changes, ...mark } as RowProperties;
      const { partitionKey, rowKey } = key;
      const write = { partitionKey, rowKey, properties: merged };
      await table.write({ kind: 'merge', row: write, etag: row.etag });
      return { ...row.properties, ...merged };
    },
    isOvertaken,
  );
}

function isOvertaken(error: unknown): boolean {
  return error instanceof ConditionFailedError;
}

function absentRow({ table }: TableGateway, key: RowKey): EntityNotFoundError {
  const { partitionKey, rowKey } = key;
  return absentEntityError(table, key, { table, operation: 'update', partitionKey, rowKey });
}
