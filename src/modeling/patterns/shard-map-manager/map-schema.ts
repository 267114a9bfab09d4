import {
  shardKeyText,
  type ShardKeyType,
  type ShardKeyValues,
} from '../../../placement/typed-routing.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { parseKey, type KeyTemplate } from '../../definition/key-template.js';
import type { PropertyKind } from '../../definition/property.js';
import type { PartitionOf } from '../../definition/shapes.js';
import { own } from '../../../base/own.js';
import { DefinitionError, ValueError } from '../../rows/model-error.js';

/** A type of entity whose partitions are dealt to shards, by one property of their PartitionKey. */
export interface ShardedType<T extends ShardKeyType = ShardKeyType> {
  readonly kind: 'sharded';
  readonly definition: AnyDefinition;
  readonly property: string;
  readonly keyType: T;
}

/** A type of entity that every shard has a copy of, in a table of its own. */
export interface ReferenceType {
  readonly kind: 'reference';
  readonly definition: AnyDefinition;
  /** The name of its table, in the home account and in each shard. */
  readonly table: string;
}

/** Which types a map has, and how it deals them; types that are not named are no concern of it. */
export interface MapSchema<T extends ShardKeyType = ShardKeyType> {
  /** From 1. Raise it when definitions change. */
  readonly version: number;
  /** Types with PartitionKeys of one form, and one type of key. */
  readonly sharded: readonly ShardedType<T>[];
  readonly reference?: readonly ReferenceType[];
}

type KeyTypeOfValue<V> = V extends string
  ? 'text' | 'guid'
  : V extends bigint
    ? 'bigint'
    : V extends number
      ? 'int'
      : V extends Date
        ? 'dateTime'
        : V extends Uint8Array
          ? 'binary'
          : never;

/** What else values of a property can be, when it is said. */
type OtherKeyType<V> = V extends bigint ? 'timeSpan' : V extends Date ? 'dateTimeOffset' : never;

const keyTypes: Partial<Record<PropertyKind, ShardKeyType>> = {
  string: 'text',
  enumeration: 'text',
  int32: 'int',
  int64: 'bigint',
  guid: 'guid',
  dateTime: 'dateTime',
  binary: 'binary',
};

const otherKeyTypes: Partial<Record<PropertyKind, ShardKeyType>> = {
  int64: 'timeSpan',
  dateTime: 'dateTimeOffset',
};

/**
 * A type of entity, dealt by one property of its PartitionKey, whose kind is the type of the key: a
 * string or an enumeration is `text`, an int32 `int`, an int64 `bigint`, a guid `guid`, a dateTime
 * `dateTime`, a binary `binary`. `as` makes an int64 a `timeSpan` in units of 100 ns, a dateTime a
 * `dateTimeOffset`. Throws `DefinitionError` for another property.
 */
export function sharded<D extends AnyDefinition, N extends keyof PartitionOf<D> & string>(
  definition: D,
  property: N,
): ShardedType<KeyTypeOfValue<PartitionOf<D>[N]>>;
export function sharded<
  D extends AnyDefinition,
  N extends keyof PartitionOf<D> & string,
  K extends OtherKeyType<PartitionOf<D>[N]>,
>(definition: D, property: N, options: { readonly as: K }): ShardedType<K>;
export function sharded(
  definition: AnyDefinition,
  property: string,
  { as }: { readonly as?: ShardKeyType } = {},
): ShardedType {
  const { type, partitionKey, properties } = definition;
  if (!partitionKey.parts.some((part) => part.property === property)) {
    throw new DefinitionError(`${type}.${property} is not in the PartitionKey`);
  }
  const kind = own(properties, property)?.model.kind;
  const keyType = kind === undefined ? undefined : keyTypes[kind];
  if (keyType === undefined) {
    const known = Object.keys(keyTypes).join(', ');
    throw new DefinitionError(`${type}.${property} is of the kind ${kind}; keys are ${known}`);
  }
  if (as !== undefined && (kind === undefined || otherKeyTypes[kind] !== as)) {
    throw new DefinitionError(`${type}.${property} is of the kind ${kind}, which is no ${as}`);
  }
  return Object.freeze({
    kind: 'sharded',
    definition,
    property,
    keyType: as ?? keyType,
  });
}

/** A type of entity that every shard has a copy of. `table`: its name in each account. */
export function reference(
  definition: AnyDefinition,
  { table }: { readonly table: string },
): ReferenceType {
  return Object.freeze({ kind: 'reference', definition, table });
}

/** What a program and the stored map must agree on, as a text; and the type of the keys. */
export interface SchemaPrint {
  readonly keyType: ShardKeyType;
  readonly version: number;
  readonly text: string;
  /** The tables of reference data. */
  readonly references: readonly string[];
}

/** Throws `DefinitionError` for types that cannot be in one map. */
export function printOfSchema(name: string, schema: MapSchema): SchemaPrint {
  const { version, sharded: types, reference: references = [] } = schema;
  const [first] = types;
  if (first === undefined) throw new DefinitionError(`the map '${name}' has no sharded type`);
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new DefinitionError(`the map '${name}': a version is a whole number from 1`);
  }
  for (const each of types) {
    if (each.keyType === first.keyType && formOf(each) === formOf(first)) continue;
    throw new DefinitionError(
      `the map '${name}': ${each.definition.type} and ${first.definition.type} have PartitionKeys ` +
        'of different forms; give one of them a map of its own',
    );
  }
  const known = [...types, ...references].map(({ definition }) => definition.type);
  const twice = known.find((type, index) => known.indexOf(type) !== index);
  if (twice !== undefined) throw new DefinitionError(`the map '${name}' has ${twice} twice`);
  const text = JSON.stringify({
    sharded: types.map((each) => textOf(each.definition, each.property)).sort(),
    reference: references.map((each) => textOf(each.definition, each.table)).sort(),
  });
  const tables = references.map(({ table }) => table);
  if (new Set(tables).size < tables.length) {
    throw new DefinitionError(`the map '${name}' has two reference types in one table`);
  }
  return { keyType: first.keyType, version, text, references: tables };
}

function formOf({ definition: { partitionKey, properties }, property }: ShardedType): string {
  return JSON.stringify([templateOf(partitionKey, properties), property]);
}

function templateOf({ texts, parts }: KeyTemplate, properties: AnyDefinition['properties']) {
  return [
    texts,
    parts.map(({ property, format }) => [
      property,
      own(properties, property)?.model.kind,
      format.width,
    ]),
  ];
}

function textOf(definition: AnyDefinition, beside: string): string {
  return JSON.stringify([shapeOf(definition), beside]);
}

function shapeOf({ type, version, properties, partitionKey, rowKey }: AnyDefinition): string {
  const kinds = Object.entries(properties).map(([name, { model }]) =>
    JSON.stringify([name, model.wireName ?? name, model.kind]),
  );
  const keys = [partitionKey, rowKey].map((template) => templateOf(template, properties));
  return JSON.stringify([type, version, kinds.sort(), keys]);
}

declare const keyOfText: unique symbol;

/** The text of a key of a type, as `textOf` of a managed map gives it: no other is taken for it. */
export type ShardKeyText<T extends ShardKeyType> = T extends 'text'
  ? string
  : string & { readonly [keyOfText]: T };

/** The text of a key. Throws `ValueError` for a value that is none. */
export function textOfKey<T extends ShardKeyType>(
  type: T,
  value: ShardKeyValues[T],
): ShardKeyText<T> {
  const found = shardKeyText(type, value);
  if (found.kind === 'text') return found.text as ShardKeyText<T>;
  throw new ValueError(`a key of the type ${type}: ${found.message}`);
}

/**
 * The text that a map routes for a PartitionKey; a PartitionKey of another form is routed as a
 * whole. Pure, and the same in every program with the schema.
 */
export function routedByKeys({ sharded: [first] }: MapSchema): (partitionKey: string) => string {
  if (first === undefined) return (partitionKey) => partitionKey;
  const { definition, property, keyType } = first;
  return (partitionKey) => {
    const value = parseKey(definition.partitionKey, partitionKey)?.[property];
    if (value === undefined) return partitionKey;
    // The kind of the property has decided the type of the key.
    const text = shardKeyText(keyType, value as ShardKeyValues[ShardKeyType]);
    return text.kind === 'text' ? text.text : partitionKey;
  };
}
