import { own } from '../../base/own.js';
import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { prefixOf, rangeWithPrefix, type KeyRange } from '../definition/key-template.js';
import { isOutdated } from '../definition/row-version.js';
import type { PartitionOf, ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { refuseUnknownNames } from '../definition/unknown-name.js';
import { systemRandomness } from '../../base/randomness.js';
import { DefinitionError, ValueError } from '../rows/model-error.js';
import type { RowKey, RowProperties, StoredRow } from '../rows/row.js';
import { retryConflicts, type ContentionOptions } from '../table/contention.js';
import { ConditionFailedError, type EntityNotFoundError } from '../table/errors.js';
import { absentEntityError } from '../table/refusals.js';
import { anyOf, whereStored, type Filter, type FilterFields } from '../table/filter.js';
import { satisfies } from '../table/filter-match.js';
import type { TableGateway } from '../table/gateway.js';
import {
  conditionOf,
  keysOfPrefix,
  planOf,
  whereFilter,
  type RowConditions,
} from '../table/query-plan.js';
import { whereKeys } from '../table/row-selection.js';
import { RowsQuery, type Query } from '../table/query.js';
import { hasStamp, newStamp, stamped } from '../table/write-stamp.js';

/** An entity of one of several definitions, distinguished by `type`. */
export type OneOf<Ds extends readonly AnyDefinition[]> = {
  [I in keyof Ds]: { readonly type: Ds[I]['type']; readonly entity: Stored<ReadOf<Ds[I]>> };
}[number];

/** A row of no known definition: a bag of properties. */
export interface UnknownRow {
  readonly type: undefined;
  readonly row: StoredRow;
}

/** The values that make the PartitionKey of every definition. */
export type SharedPartition<Ds extends readonly AnyDefinition[]> = Intersected<
  PartitionOf<Ds[number]>
>;

type Intersected<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void
  ? I
  : never;

/** For each type to read a condition, or `'all'`. Rows of other types are left out. */
export type MixedConditions<Ds extends readonly AnyDefinition[]> = {
  readonly [D in Ds[number] as D['type']]?: 'all' | ((properties: FilterFields<D>) => Filter);
};

/** Rows of one partition. */
export interface MixedQuery<Ds extends readonly AnyDefinition[]> {
  /** The values of the PartitionKey, which the definitions must have in common. */
  readonly partition: SharedPartition<Ds>;
  /** How the RowKeys begin, such as `EMPLOYEE_`. Cannot be combined with `rowKeys`. */
  readonly startsWith?: string;
  readonly rowKeys?: KeyRange;
}

/**
 * A table with entities of several types: the definition of a row follows from its `EntityType` or,
 * for definitions that do not store it, from the form of its keys, such as the prefix of the
 * RowKey. Types that inherit from one another share properties: `const person = { … };
 * defineEntity({ properties: { ...person, salary: double() }, … })`.
 */
export class MixedTable<const Ds extends readonly AnyDefinition[]> {
  readonly #table: TableGateway;
  readonly #definitions: Ds;

  /** Throws `DefinitionError` when two definitions have the same type. Sends nothing. */
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
   * The entity of a row, by the first definition that it matches. Sends nothing. Throws
   * `DecodeError` for a row that has the type of a definition but does not match it otherwise.
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

  /**
   * Rows of one partition, of some types, each with its condition, which agrees with the results of
   * reads. In RowKey order. Nothing is sent before the query is run.
   */
  query<const N extends Ds[number]['type']>(
    query: MixedQuery<Ds> & { readonly where: Pick<MixedConditions<Ds>, N> },
  ): Query<Extract<OneOf<Ds>, { readonly type: N }>>;
  /** Rows of any type. */
  query(query: MixedQuery<Ds>): Query<OneOf<Ds> | UnknownRow>;
  query({
    where,
    ...query
  }: MixedQuery<Ds> & { readonly where?: object }): Query<OneOf<Ds> | UnknownRow> {
    const { startsWith, rowKeys } = query;
    if (startsWith !== undefined && rowKeys !== undefined) {
      throw new ValueError('a query has a beginning or a range of RowKeys, not both');
    }
    const rowKey =
      startsWith === undefined || startsWith === '' ? rowKeys : rangeWithPrefix(startsWith);
    const partitionKey = this.#partitionKey(query.partition);
    const wanted = where === undefined ? undefined : this.#wanted(where);
    const plan = planOf(rowKey === undefined ? 'partition-scan' : 'range', [
      { partitionKey, rowKey, where: wanted && anyOf([...wanted.values()].map(filterOfType)) },
    ]);
    return new RowsQuery(this.#table, plan, (row) => {
      const found = this.resolve(row);
      return wanted === undefined || isWanted(wanted, row) ? found : undefined;
    });
  }

  /** Throws `ValueError` unless all definitions have this PartitionKey. */
  #partitionKey(partition: SharedPartition<Ds>): string {
    const keys = this.#definitions.map((definition) => ({
      type: definition.type,
      text: codecOf(definition).partitionKey(partition as PartitionOf<AnyDefinition>),
    }));
    const [first] = keys;
    const other = keys.find(({ text }) => text !== first?.text);
    if (first !== undefined && other === undefined) return first.text;
    throw new ValueError(
      first === undefined
        ? 'a mixed table without definitions has no partitions'
        : `${first.type} is in the partition '${first.text}', ${other?.type} in '${other?.text}': ` +
            'read them with one query each',
    );
  }

  #wanted(where: object): WantedTypes {
    const given = where as Readonly<Record<string, unknown>>;
    const types = this.#definitions.map(({ type }) => type);
    refuseUnknownNames('the mixed table', given, types);
    const wanted = this.#definitions.flatMap((definition) => {
      const condition = own(given, definition.type);
      if (condition === undefined) return [];
      const conditions = (condition === 'all' ? {} : { where: condition }) as Conditions;
      return [[definition.type, { definition, conditions }] as const];
    });
    if (wanted.length > 0) return new Map(wanted);
    throw new ValueError(`'where' names none of ${types.join(', ')}: nothing could be found`);
  }
}

type Conditions = RowConditions<AnyDefinition>;

interface WantedType {
  readonly definition: AnyDefinition;
  readonly conditions: Conditions;
}

/** The types that a query reads, by their names. */
type WantedTypes = ReadonlyMap<string, WantedType>;

/** Selects rows of the type and rows without a type, whose keys tell the type later. */
function filterOfType({ definition, conditions }: WantedType): Filter {
  const { type, system, rowKey } = definition;
  const isOfType =
    system.type === undefined
      ? whereKeys('RowKey', keysOfPrefix(prefixOf(rowKey, {})))
      : whereStored(system.type, 'ne', { type: 'String', value: type }).not();
  const condition = whereFilter(definition, conditions);
  return condition === undefined ? isOfType : isOfType.and(condition);
}

function isWanted(wanted: WantedTypes, row: StoredRow): boolean {
  const found = [...wanted.values()].find(({ definition }) => codecOf(definition).matches(row));
  if (found === undefined) return false;
  const condition = conditionOf(found.definition, found.conditions);
  if (condition === undefined) return true;
  const codec = codecOf(found.definition);
  const current = isOutdated(found.definition, row) ? codec.shownRow(codec.fromRow(row)) : row;
  return satisfies(condition.node, current.properties);
}

/** A table with entities of these definitions. Sends nothing. */
export function mixedTableOf<const Ds extends readonly AnyDefinition[]>(
  table: TableGateway,
  ...definitions: Ds
): MixedTable<Ds> {
  return new MixedTable(table, definitions);
}

/** Options of a change of a row without a definition. */
export interface BagOptions extends ContentionOptions {
  /** The property with write stamps, used when the row has it. `WriteStamp` when absent. */
  readonly writeStamp?: string;
}

/**
 * Changes some properties of a row without a definition: reads it, calls `change` with the bag of
 * its properties, and merges the new typed values that it returns. `change` may run several times;
 * it returns undefined to leave the row unchanged. Properties cannot be removed. Computed
 * properties of a definition are only computed anew by a table that keeps indexes of it.
 *
 * Sends a point read and a merge under the row's ETag, and both again after each conflict. Throws
 * `EntityNotFoundError` when the row does not exist, `ContentionError` after the last attempt.
 * Returns the resulting properties.
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
