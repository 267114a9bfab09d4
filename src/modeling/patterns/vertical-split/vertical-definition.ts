import type {
  AnyDefinition,
  KeyFields,
  SystemOptions,
} from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type { Properties } from '../../definition/property.js';
import { string } from '../../definition/scalar-types.js';
import { DefinitionError } from '../../rows/model-error.js';
import {
  assertGroupsApart,
  definitionOfGroup,
  ownersOf,
  type WideDefinition,
  type WideGroups,
} from '../wide-entities/wide-definition.js';

export interface VerticalOptions<
  K extends Properties,
  G extends WideGroups,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
> {
  /** The rows have the types `<type>.<group>`. */
  readonly type: string;
  /** The properties in the keys, which all groups share. */
  readonly keys: K;
  readonly partitionKey: (properties: KeyFields<K>) => PK;
  readonly rowKey: (properties: KeyFields<K>) => RK;
  /** The properties of each group, which have a table, perhaps an account, of their own. */
  readonly groups: G;
  /** The group whose row says that the entity exists. */
  readonly leader: keyof G & string;
  readonly system?: SystemOptions;
}

/** One logical entity whose properties are in groups, each in a table of its own. */
export interface VerticalDefinition<
  K extends Properties = Properties,
  G extends WideGroups = WideGroups,
> extends WideDefinition<K, G> {
  readonly leader: string;
}

/**
 * Properties that rows have besides those of their group: the insert that wrote the row; in the
 * leader, whether that insert has ended, and for each group the last change of several groups that
 * took effect.
 */
export const splitPair = 'splitPair';
export const splitState = 'splitState';
export const splitChanges = 'splitChanges';

const beside: Properties = {
  [splitPair]: string(),
  [splitState]: string().optional(),
  [splitChanges]: string().optional(),
};

/** Properties of the rows of changes. No property of a group may have one of these names. */
export const splitChange = 'splitChange';
export const splitRemoved = 'splitRemoved';
export const splitBefore = 'splitBefore';
export const partType = 'EntityType';

const taken: readonly string[] = [
  ...Object.keys(beside),
  splitChange,
  splitRemoved,
  splitBefore,
  partType,
];

/**
 * Defines an entity that is split vertically: properties that are written often are apart from
 * those that are read often, and secret ones are in an account of their own. Sends nothing. Throws
 * `DefinitionError` for groups that share a property, and for fewer than two.
 */
export function defineVertical<
  K extends Properties,
  const G extends WideGroups,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
>(options: VerticalOptions<K, G, PK, RK>): VerticalDefinition<K, G> {
  const { type, keys, groups, leader } = options;
  const names = Object.keys(groups);
  if (names.length < 2 || !names.includes(leader)) {
    throw new DefinitionError(`${type}: give two groups or more, and one of them as leader`);
  }
  const others = new Map<string, string>([
    ...taken.map((name) => [name, 'use'] as const),
    ...ownersOf(keys, 'the keys'),
  ]);
  assertGroupsApart(type, groups, others);
  const rows = new Map<string, AnyDefinition>();
  for (const group of names) rows.set(group, definitionOfGroup(options, group, beside));
  return Object.freeze({ type, keys, groups, rows, leader });
}
