import { own } from '../../base/own.js';
import { DefinitionError } from '../rows/model-error.js';
import { wireNameFault } from '../rows/sdk-entity.js';
import { keyFieldOf, type KeyFieldOf, type KeyableKind } from './key-part.js';
import type { KeyTemplate } from './key-template.js';
import type { AnyProperty, FlagsOf, KindOf, Properties } from './property.js';
import type { CreateShape, ReadOf } from './shapes.js';

/** The names of the properties that the library adds to entities. */
export interface SystemProperties {
  /** Holds the type's name; undefined when it is not stored because the keys tell the type. */
  readonly type: string | undefined;
  /** Holds the version of the definition as Int32; absent in rows of version 1. */
  readonly version: string;
  /** Holds the ids of the last writes; undefined when retried writes are not to be recognised. */
  readonly writeStamp: string | undefined;
}

/** Names of the properties that the library adds to entities; `false` leaves one out. */
export interface SystemOptions {
  /** `EntityType` when absent; `false`: not stored. */
  readonly type?: string | false;
  /** `EntityVersion` when absent. */
  readonly version?: string;
  /** `WriteStamp` when absent; `false`: not stored. */
  readonly writeStamp?: string | false;
}

/** Converts entities of an older definition. */
export interface Upgrade {
  readonly from: AnyDefinition;
  readonly upgrade: (old: unknown) => unknown;
}

/**
 * The entities of one type: their properties, their keys and how they are stored. Made by
 * `defineEntity`.
 */
export interface EntityDefinition<
  T extends string = string,
  P extends Properties = Properties,
  PK extends KeyTemplate = KeyTemplate,
  RK extends KeyTemplate = KeyTemplate,
> {
  readonly type: T;
  /** From 1. */
  readonly version: number;
  readonly properties: P;
  readonly partitionKey: PK;
  readonly rowKey: RK;
  readonly system: SystemProperties;
  readonly upgradeFrom: Upgrade | undefined;
  /**
   * Returns the same definition, able to read entities of an older version: `upgrade` converts them
   * on read, and the next replace stores them in the new form. Versions chain. The keys must not
   * change. Rows of a version that no upgrade covers are refused. Throws `DefinitionError` unless
   * the version of `old` is lower.
   */
  upgrading<Old extends AnyDefinition>(
    old: Old,
    upgrade: (old: ReadOf<Old>) => CreateShape<P>,
  ): EntityDefinition<T, P, PK, RK>;
}

/** Any definition, when its properties do not matter. */
export type AnyDefinition = EntityDefinition;

type Unkeyable = 'optional' | 'encrypted';

/** The properties that a key template can use. */
export type KeyFields<P extends Properties> = {
  readonly [
    N in keyof P & string as KindOf<P[N]> extends KeyableKind
      ? [Extract<FlagsOf<P[N]>, Unkeyable>] extends [never]
        ? N
        : never
      : never
  ]: KeyFieldOf<N, P[N]>;
};

/** The options of `defineEntity`. */
export interface DefinitionOptions<
  T extends string,
  P extends Properties,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
> {
  /** The name that tells entities of this type from others. */
  readonly type: T;
  /** 1 when absent. Raise it when stored entities have to be upgraded. */
  readonly version?: number;
  readonly properties: P;
  readonly partitionKey: (properties: KeyFields<P>) => PK;
  readonly rowKey: (properties: KeyFields<P>) => RK;
  readonly system?: SystemOptions;
}

/**
 * Defines a type of entity: its properties, and how its keys are made of them. Sends nothing.
 * Properties that keys carry are not stored a second time unless they are `stored()`. Throws
 * `DefinitionError` for a definition that contradicts itself.
 */
export function defineEntity<
  const T extends string,
  P extends Properties,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
>(options: DefinitionOptions<T, P, PK, RK>): EntityDefinition<T, P, PK, RK> {
  const { type, version = 1, properties } = options;
  if (type === '') throw new DefinitionError('a definition needs a type');
  if (!Number.isInteger(version) || version < 1) {
    throw new DefinitionError(`${type}: a version is a whole number from 1, not ${version}`);
  }
  const fields = keyFields(properties);
  const definition = new Definition<T, P, PK, RK>({
    type,
    version,
    properties,
    partitionKey: options.partitionKey(fields),
    rowKey: options.rowKey(fields),
    system: systemOf(options.system),
    upgradeFrom: undefined,
  });
  check(definition);
  return definition;
}

function systemOf({
  type = 'EntityType',
  version = 'EntityVersion',
  writeStamp = 'WriteStamp',
}: SystemOptions = {}): SystemProperties {
  return Object.freeze({
    type: type === false ? undefined : type,
    version,
    writeStamp: writeStamp === false ? undefined : writeStamp,
  });
}

function keyFields<P extends Properties>(properties: P): KeyFields<P> {
  const entries = Object.entries<AnyProperty>(properties).map(([name, property]) => [
    name,
    property.model.flags.has('optional') || property.model.flags.has('encrypted')
      ? undefined
      : keyFieldOf(name, property),
  ]);
  return Object.fromEntries(entries) as KeyFields<P>;
}

type Parts<
  T extends string,
  P extends Properties,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
> = Omit<EntityDefinition<T, P, PK, RK>, 'upgrading'>;

class Definition<
  T extends string,
  P extends Properties,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
> implements EntityDefinition<T, P, PK, RK> {
  readonly type: T;
  readonly version: number;
  readonly properties: P;
  readonly partitionKey: PK;
  readonly rowKey: RK;
  readonly system: SystemProperties;
  readonly upgradeFrom: Upgrade | undefined;

  constructor(parts: Parts<T, P, PK, RK>) {
    this.type = parts.type;
    this.version = parts.version;
    this.properties = Object.freeze(parts.properties);
    this.partitionKey = parts.partitionKey;
    this.rowKey = parts.rowKey;
    this.system = parts.system;
    this.upgradeFrom = parts.upgradeFrom;
    Object.freeze(this);
  }

  upgrading<Old extends AnyDefinition>(
    old: Old,
    upgrade: (old: ReadOf<Old>) => CreateShape<P>,
  ): EntityDefinition<T, P, PK, RK> {
    if (old.version >= this.version) {
      throw new DefinitionError(
        `${this.type} version ${this.version} cannot upgrade version ${old.version}`,
      );
    }
    return new Definition<T, P, PK, RK>({
      type: this.type,
      version: this.version,
      properties: this.properties,
      partitionKey: this.partitionKey,
      rowKey: this.rowKey,
      system: this.system,
      upgradeFrom: { from: old, upgrade: (values) => upgrade(values as ReadOf<Old>) },
    });
  }
}

/** The names of the properties in the keys. */
export function keyNamesOf({ partitionKey, rowKey }: AnyDefinition): ReadonlySet<string> {
  return new Set([...partitionKey.parts, ...rowKey.parts].map(({ property }) => property));
}

/** The name under which a property is stored. */
export function storedNameOf(name: string, { model }: AnyProperty): string {
  return model.wireName ?? name;
}

function check(definition: AnyDefinition): void {
  const { type, properties, system } = definition;
  const takenBy = new Map<string, string>();
  const take = (wireName: string, owner: string): void => {
    const fault = wireNameFault(wireName);
    if (fault !== undefined) throw new DefinitionError(`${type}.${owner}: ${fault}; see named()`);
    const other = takenBy.get(wireName);
    if (other !== undefined) {
      throw new DefinitionError(`${type}: '${wireName}' is stored by ${other} and by ${owner}`);
    }
    takenBy.set(wireName, owner);
  };
  for (const name of [system.type, system.version, system.writeStamp]) {
    if (name !== undefined) take(name, name);
  }
  const keyNames = keyNamesOf(definition);
  for (const [name, property] of Object.entries(properties)) {
    checkProperty(definition, name, property);
    if (keyNames.has(name) && !property.model.flags.has('stored')) continue;
    const stored = storedNameOf(name, property);
    for (const wireName of property.model.codec.wireNames(stored)) take(wireName, name);
  }
}

function checkProperty({ type, properties }: AnyDefinition, name: string, property: AnyProperty) {
  const { flags, computation, properties: inner = {} } = property.model;
  for (const each of [name, ...Object.keys(inner)]) {
    if (!(each in Object.prototype)) continue;
    throw new DefinitionError(
      `${type}.${name}: every object has a '${each}' of its own; name it otherwise, and store it ` +
        `as '${each}' with named()`,
    );
  }
  if (flags.has('optional') && flags.has('default')) {
    throw new DefinitionError(`${type}.${name}: what has a default is never absent`);
  }
  if (computation === undefined) return;
  if (flags.has('default')) {
    throw new DefinitionError(`${type}.${name}: what is computed needs no default`);
  }
  for (const [source, expected] of Object.entries(computation.from)) {
    const found = own<AnyProperty>(properties, source)?.model;
    const isSame =
      found?.kind === expected.model.kind &&
      found.flags.has('optional') === expected.model.flags.has('optional');
    if (isSame && found.computation === undefined) continue;
    throw new DefinitionError(
      `${type}.${name} is computed from '${source}', which must be a property of that kind, ` +
        'optional or not as said there, and not computed itself',
    );
  }
}
