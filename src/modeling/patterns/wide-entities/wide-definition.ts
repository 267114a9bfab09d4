import { codecOf } from '../../definition/codec.js';
import {
  defineEntity,
  type AnyDefinition,
  type KeyFields,
  type SystemOptions,
} from '../../definition/entity-definition.js';
import { completeValues, fieldsOf, type Values } from '../../definition/entity-fields.js';
import { keyTemplate, type KeyTemplate } from '../../definition/key-template.js';
import type { FlagsOf, Properties, ValueOf } from '../../definition/property.js';
import type { CreateShape, ReadShape } from '../../definition/shapes.js';
import { DefinitionError } from '../../rows/model-error.js';
import { transactionWritesMax } from '../../table/gateway.js';

/** The properties of the rows of a wide entity, by the name of the row, such as `01`. */
export type WideGroups = Readonly<Record<string, Properties>>;

/** The options of `defineWideEntity`. */
export interface WideOptions<
  K extends Properties,
  G extends WideGroups,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
> {
  /** The rows have the types `<type>.<group>`. */
  readonly type: string;
  /** The properties in the keys, which every row carries. */
  readonly keys: K;
  readonly partitionKey: (properties: KeyFields<K>) => PK;
  /** The RowKey of the entity; its rows append `_<group>`. */
  readonly rowKey: (properties: KeyFields<K>) => RK;
  /**
   * The rows by name, each with at most 252 properties and 1 MiB. Properties that change together
   * belong into one group: one merge changes one row.
   */
  readonly groups: G;
  readonly system?: SystemOptions;
}

/** A definition whose properties are stored in several rows, in groups. */
export interface WideDefinition<
  K extends Properties = Properties,
  G extends WideGroups = WideGroups,
> {
  readonly type: string;
  readonly keys: K;
  readonly groups: G;
  /** A definition for each row, in the order of their RowKeys. */
  readonly rows: ReadonlyMap<string, AnyDefinition>;
}

/** A wide definition of any shape. */
export type AnyWideDefinition = WideDefinition;

type Intersection<U> = (U extends unknown ? (each: U) => void : never) extends (
  all: infer I,
) => void
  ? I
  : never;

type GroupProperties<W extends AnyWideDefinition> = Extract<
  Intersection<W['groups'][keyof W['groups']]>,
  Properties
>;

/** Input of an insert: the keys and the properties of all groups. */
export type WideCreateOf<W extends AnyWideDefinition> = CreateShape<W['keys'] & GroupProperties<W>>;

/** Result of a read of the whole entity. */
export type WideReadOf<W extends AnyWideDefinition> = ReadShape<W['keys'] & GroupProperties<W>>;

/** Result of a read of some groups. */
export type WidePartOf<W extends AnyWideDefinition, N extends keyof W['groups']> = ReadShape<
  W['keys'] & Extract<Intersection<W['groups'][N]>, Properties>
>;

/** The values of the keys. */
export type WideKeyOf<W extends AnyWideDefinition> = ReadShape<W['keys']>;

type Unmerged = 'readOnly' | 'computed' | 'encrypted';

/** Input of a change: properties of the groups, except those that a merge cannot write. */
export type WideChangesOf<W extends AnyWideDefinition> =
  GroupProperties<W> extends infer P extends Properties
    ? {
        readonly [
          N in keyof P & string as [Extract<FlagsOf<P[N]>, Unmerged>] extends [never] ? N : never
        ]?: ValueOf<P[N]> | undefined;
      }
    : never;

/** The names of the groups. */
export type GroupOf<W extends AnyWideDefinition> = keyof W['groups'] & string;

/**
 * Defines a logical entity of several rows, for more than 252 properties or 1 MiB, such as 365 days
 * of counts. Sends nothing. Throws `DefinitionError` for groups that share a property, names of
 * groups that are not letters and digits of equal length, or more than 100 groups.
 */
export function defineWideEntity<
  K extends Properties,
  const G extends WideGroups,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
>(options: WideOptions<K, G, PK, RK>): WideDefinition<K, G> {
  const { type, keys, groups } = options;
  checkGroups(options);
  // Objects list integer names such as 10 before 01.
  const names = Object.keys(groups).toSorted();
  const rows = new Map<string, AnyDefinition>();
  for (const group of names) {
    const rowKey = (fields: KeyFields<K>) => withSuffix(options.rowKey(fields), group);
    rows.set(group, definitionOfGroup({ ...options, rowKey }, group));
  }
  return Object.freeze({ type, keys, groups, rows });
}

/** The type, the keys and the options that the rows of all groups of an entity share. */
interface GroupedOptions<K extends Properties> {
  readonly type: string;
  readonly keys: K;
  readonly groups: WideGroups;
  readonly partitionKey: (properties: KeyFields<K>) => KeyTemplate;
  readonly rowKey: (properties: KeyFields<K>) => KeyTemplate;
  readonly system?: SystemOptions;
}

/**
 * The definition of the row of a group, together with the properties `beside`, which belong to no
 * group. Throws `DefinitionError` now instead of at the first write when it is invalid.
 */
export function definitionOfGroup<K extends Properties>(
  { type, keys, groups, partitionKey, rowKey, system = {} }: GroupedOptions<K>,
  group: string,
  beside: Properties = {},
): AnyDefinition {
  const definition = defineEntity({
    type: `${type}.${group}`,
    properties: { ...groups[group], ...beside, ...keys },
    partitionKey: (fields) => partitionKey(fields as KeyFields<K>),
    rowKey: (fields) => rowKey(fields as KeyFields<K>),
    system,
  });
  codecOf(definition);
  return definition;
}

/**
 * The values with all of the keys, computed and default ones included, so that every row gets the
 * same. Throws `ValueError` for a key that is neither given nor made.
 */
export function withKeys({ type, keys, rows }: AnyWideDefinition, values: Values): Values {
  const fields = [...rows.values()].slice(0, 1).flatMap(fieldsOf);
  const ofKeys = fields.filter(({ name }) => Object.hasOwn(keys, name));
  const made = completeValues(type, ofKeys, values, ({ defaultValue }) => defaultValue?.());
  return { ...values, ...made };
}

function withSuffix({ texts, parts }: KeyTemplate, group: string): KeyTemplate {
  return keyTemplate([...texts.slice(0, -1), `${texts.at(-1) ?? ''}_${group}`], parts);
}

function checkGroups({
  type,
  keys,
  groups,
}: Pick<
  WideOptions<Properties, WideGroups, KeyTemplate, KeyTemplate>,
  'type' | 'keys' | 'groups'
>): void {
  const names = Object.keys(groups);
  if (names.length === 0 || names.length > transactionWritesMax) {
    throw new DefinitionError(
      `${type}: ${names.length} groups; one transaction writes 1 to ${transactionWritesMax} rows`,
    );
  }
  const [width] = names.map((name) => name.length);
  const odd = names.find((name) => name.length !== width || !/^[0-9A-Za-z]+$/.test(name));
  if (odd !== undefined) {
    throw new DefinitionError(
      `${type}: the group '${odd}' should be letters and digits, as many as in the others: 01, 02, …`,
    );
  }
  assertGroupsApart(type, groups, ownersOf(keys, 'the keys'));
}

/** The owner of each property, by the property's name. */
export function ownersOf(properties: Properties, owner: string): Map<string, string> {
  return new Map(Object.keys(properties).map((name) => [name, owner]));
}

/**
 * Throws `DefinitionError` for a property of a group that also belongs to another group or to
 * another owner of names.
 */
export function assertGroupsApart(
  type: string,
  groups: WideGroups,
  others: ReadonlyMap<string, string>,
): void {
  const owners = new Map(others);
  for (const [group, properties] of Object.entries(groups)) {
    for (const name of Object.keys(properties)) {
      const other = owners.get(name);
      if (other !== undefined) {
        throw new DefinitionError(`${type}.${name} is in ${other} and in group '${group}'`);
      }
      owners.set(name, `group '${group}'`);
    }
  }
}
