import { own } from '../../../base/own.js';
import {
  defineEntity,
  storedNameOf,
  type AnyDefinition,
} from '../../definition/entity-definition.js';
import { codecOf, type EntityCodec } from '../../definition/codec.js';
import { isTextPart, itemFieldOf, keyFieldOf, type KeyPart } from '../../definition/key-part.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type { AnyProperty, PropertyFlag } from '../../definition/property.js';
import { int32, string } from '../../definition/scalar-types.js';
import { DefinitionError } from '../../rows/model-error.js';
import type {
  AnyIndex,
  AnyIndexes,
  CopyIndex,
  DefinitionOf,
  ListIndex,
  RowPlace,
} from './index-declaration.js';
import type { ListLayout } from '../index-entities/row-list.js';

interface Resolved {
  /** The name in the declaration. */
  readonly name: string;
  readonly entity: AnyDefinition;
  /** The definition of the index rows. */
  readonly definition: AnyDefinition;
  readonly codec: EntityCodec<AnyDefinition>;
  /** Properties without which an entity is not in the index. */
  readonly needed: readonly string[];
  readonly when: ((entity: never) => boolean) | undefined;
  /** The list with a row for each of its items, and the name of an item in the keys. */
  readonly each: EachItem | undefined;
}

interface EachItem {
  readonly item: string;
  readonly list: string;
}

/** An index of copies, ready to use. */
export interface ResolvedCopies extends Resolved {
  readonly kind: 'copy';
  readonly place: RowPlace;
}

/** An index of lists, ready to use. */
export interface ResolvedLists extends Resolved {
  readonly kind: 'list';
  readonly place: RowPlace | 'blob';
  readonly layout: ListLayout;
}

export type ResolvedIndex = ResolvedCopies | ResolvedLists;

/** A definition with its indexes. */
export interface IndexedDefinition<D extends AnyDefinition, I extends AnyIndexes<D>> {
  readonly entity: D;
  readonly declared: I;
  /** The definitions of the indexes' rows, by name. */
  readonly rows: { readonly [N in keyof I]: DefinitionOf<D, I[N]> };
  /** In the order of declaration. */
  readonly indexes: readonly ResolvedIndex[];
}

/** A transaction fits the entity, an intent, and two rows for each of these without lists. */
const besideMax = 16;

/**
 * Declares the indexes of a definition. Sends nothing. Throws `DefinitionError` for contradictory
 * declarations.
 */
export function withIndexes<D extends AnyDefinition, const I extends AnyIndexes<D>>(
  entity: D,
  declared: I,
): IndexedDefinition<NoInfer<D>, NoInfer<I>> {
  const indexes = Object.entries<AnyIndex<D>>(declared).map(([name, index]) =>
    resolve(entity, name, index),
  );
  if (indexes.filter(({ place }) => place === 'same-partition').length > besideMax) {
    throw new DefinitionError(
      `${entity.type}: a transaction has no room for more than ${besideMax} indexes in one partition`,
    );
  }
  if (entity.system.type === undefined) refuseMixedKeys(entity, indexes);
  const rows = Object.fromEntries(indexes.map(({ name, definition }) => [name, definition]));
  return Object.freeze({
    entity,
    declared,
    indexes,
    rows: rows as IndexedDefinition<D, I>['rows'],
  });
}

/** When rows do not store their type, only the prefixes of their keys tell it. */
function refuseMixedKeys(entity: AnyDefinition, indexes: readonly ResolvedIndex[]): void {
  const mixed = indexes.filter(({ place }) => place !== 'other-table' && place !== 'blob');
  const kinds = [entity, ...mixed.map(({ definition }) => definition)];
  kinds.forEach((kind, at) => {
    const rival = kinds.slice(at + 1).find((other) => !areApart(kind, other));
    if (rival === undefined) return;
    throw new DefinitionError(
      `nothing tells rows of ${rival.type} from those of ${kind.type}: store the type, or begin ` +
        'their keys with different texts',
    );
  });
}

function areApart(left: AnyDefinition, right: AnyDefinition): boolean {
  return (['partitionKey', 'rowKey'] as const).some((name) => {
    const [one = '', other = ''] = [left[name].texts[0], right[name].texts[0]];
    return !one.startsWith(other) && !other.startsWith(one);
  });
}

function resolve<D extends AnyDefinition>(
  entity: D,
  name: string,
  index: AnyIndex<D>,
): ResolvedIndex {
  const each = eachOf(entity, name, index.each);
  const fields = fieldsOf(entity, index.isSparse, each) as never;
  const partitionKey = index.partitionKey?.(fields) ?? entity.partitionKey;
  const rowKey = index.rowKey(fields);
  const definition = defineRows(entity, name, { partitionKey, rowKey, each }, index);
  const keyNames = [...partitionKey.parts, ...rowKey.parts].map(({ property }) => property);
  if (each !== undefined && !keyNames.includes(each.item)) {
    throw new DefinitionError(
      `${definition.type} has a row for each of '${each.list}', and its key does not use '${each.item}'`,
    );
  }
  const resolved = {
    name,
    entity,
    definition,
    codec: codecOf(definition),
    needed: [...new Set(keyNames.map((part) => (part === each?.item ? each.list : part)))],
    when: index.when,
    each,
  };
  if (index.kind === 'copy') return { ...resolved, kind: 'copy', place: index.place };
  const { listName, unitsMax } = index;
  const type = definition.system.type;
  const system =
    type === undefined ? {} : { [type]: { type: 'String' as const, value: definition.type } };
  const layout: ListLayout = { name: listName, system, unitsMax };
  return { ...resolved, kind: 'list', place: index.place, layout };
}

/**
 * Throws `DefinitionError` for a property that is no list, and for a name of items that is the name
 * of a property.
 */
function eachOf(
  { type, properties }: AnyDefinition,
  name: string,
  each: Readonly<Record<string, string>> = {},
): EachItem | undefined {
  const [first, ...others] = Object.entries(each);
  if (first === undefined) return undefined;
  const [item, list] = first;
  const why =
    others.length > 0
      ? 'has a row for each item of one list, not of several'
      : own<AnyProperty>(properties, item) !== undefined
        ? `cannot call an item '${item}': ${type} has a property of that name`
        : isList(own<AnyProperty>(properties, list))
          ? undefined
          : `needs a list of texts or numbers that is not encrypted; '${list}' is none`;
  if (why === undefined) return { item, list };
  throw new DefinitionError(`the index '${name}' of ${type} ${why}`);
}

function isList(property: AnyProperty | undefined): boolean {
  const model = property?.model;
  return (model?.kind === 'list' || model?.kind === 'json') && !model.flags.has('encrypted');
}

function fieldsOf(
  { type, properties }: AnyDefinition,
  isSparse: boolean,
  each: EachItem | undefined,
): object {
  const fields = each === undefined ? {} : { [each.item]: itemFieldOf(each.item) };
  for (const [name, property] of Object.entries<AnyProperty>(properties)) {
    const { flags } = property.model;
    const why = flags.has('encrypted')
      ? 'is encrypted'
      : flags.has('optional') && !isSparse
        ? 'may be absent; sparse: true leaves out entities without it'
        : undefined;
    const field = why === undefined ? keyFieldOf(name, property) : undefined;
    Object.defineProperty(fields, name, {
      get() {
        if (field !== undefined) return field;
        throw new DefinitionError(
          `${type}.${name} cannot be in the key of an index: it ${why ?? 'has no order'}`,
        );
      },
    });
  }
  return fields;
}

interface Templates {
  readonly partitionKey: KeyTemplate;
  readonly rowKey: KeyTemplate;
  readonly each: EachItem | undefined;
}

/** The definition of an index's rows. */
function defineRows<D extends AnyDefinition>(
  entity: D,
  name: string,
  templates: Templates,
  index:
    | CopyIndex<D, KeyTemplate, KeyTemplate, string, RowPlace>
    | ListIndex<D, KeyTemplate, KeyTemplate, RowPlace | 'blob'>,
): AnyDefinition {
  const type = `${entity.type}.${name}`;
  const parts = [...templates.partitionKey.parts, ...templates.rowKey.parts];
  const inKeys = new Set(parts.map(({ property }) => property));
  const ownKeys = [...entity.partitionKey.parts, ...entity.rowKey.parts].map(
    ({ property }) => property,
  );
  const included = index.kind === 'list' ? [] : [...ownKeys, ...includedOf(entity, index.include)];
  const properties = Object.fromEntries(
    [...new Set([...inKeys, ...included])].map((each) => {
      if (each === templates.each?.item) return [each, itemProperty(parts, each)];
      const property = own<AnyProperty>(entity.properties, each);
      if (property === undefined) {
        throw new DefinitionError(`${type} includes '${each}', which ${entity.type} does not have`);
      }
      return [each, rowProperty(each, property, inKeys.has(each))];
    }),
  );
  const { system } = entity;
  return defineEntity({
    type,
    // A copy has the version of the definition that made it. Lists have no version.
    version: index.kind === 'copy' ? entity.version : 1,
    properties,
    partitionKey: () => templates.partitionKey,
    rowKey: () => templates.rowKey,
    system: { type: system.type ?? false, version: system.version, writeStamp: false },
  });
}

/** Items have the type with which the keys format them. */
function itemProperty(parts: readonly KeyPart[], item: string): AnyProperty {
  const own = parts.filter(({ property }) => property === item);
  if (own.every(isTextPart)) return string();
  if (!own.some(isTextPart)) return int32();
  throw new DefinitionError(`'${item}' is a text in one place of the key and a number in another`);
}

function includedOf(
  { properties }: AnyDefinition,
  include: readonly string[] | 'all',
): readonly string[] {
  return include === 'all' ? Object.keys(properties) : include;
}

/** A property of the entity in the definition of index rows. */
function rowProperty(name: string, property: AnyProperty, isInKeys: boolean): AnyProperty {
  const { model } = property;
  const dropped: readonly PropertyFlag[] = isInKeys
    ? ['computed', 'readOnly', 'optional', 'default']
    : ['computed', 'readOnly'];
  const flags = new Set([...model.flags].filter((flag) => !dropped.includes(flag)));
  return {
    model: Object.freeze({
      ...model,
      flags,
      computation: undefined,
      defaultValue: flags.has('default') ? model.defaultValue : undefined,
      // Stored under the entity's name for it, whatever the other names are.
      wireName: storedNameOf(name, property),
    }),
  };
}
