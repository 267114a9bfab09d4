import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import { prefixOf, type KeyTemplate, type KeyValues } from '../../definition/key-template.js';
import type { PartitionKeyPrefixOf, RowKeyPrefixOf } from '../../definition/shapes.js';
import { ValueError } from '../../rows/model-error.js';

/**
 * The keys that a token can access, from the first to the last, both included, in the order of
 * keys. The RowKeys bound the rows of the first and last partition.
 */
export interface KeyScope {
  readonly startPartitionKey: string;
  readonly endPartitionKey: string;
  readonly startRowKey?: string;
  readonly endRowKey?: string;
}

/** The entities that a token can access, by the values that their keys begin with. */
export interface ScopeOf<D extends AnyDefinition> {
  /** Values for the leading parts of the PartitionKey; all of them for one partition. */
  readonly partition: PartitionKeyPrefixOf<D>;
  /** Values for the leading parts of the RowKey. Requires one partition. */
  readonly rows?: RowKeyPrefixOf<D>;
}

/**
 * The last character that is no noncharacter. A key with a prefix sorts up to the prefix with this
 * character, unless it continues with U+FFFD or above, which ordinary text does not. Such a key is
 * inaccessible; it does not expose another user's keys.
 */
const lastCharacter = '\ufffd';

/**
 * The keys that begin with the given values, including those of other types in the range. Sends
 * nothing. Throws `ValueError` for a scope that a token cannot have: the whole table, rows of
 * several partitions, or an empty key.
 */
export function keyScopeOf<D extends AnyDefinition>(
  definition: D,
  { partition, rows }: ScopeOf<D>,
): KeyScope {
  // Throws for an invalid definition.
  codecOf(definition);
  const { type } = definition;
  const partitions = boundsOf(definition.partitionKey, partition as KeyValues);
  if (partitions === undefined) {
    throw new ValueError(`${type}: the token would reach every partition; give it a PartitionKey`);
  }
  const scope = { startPartitionKey: partitions.first, endPartitionKey: partitions.last };
  if (rows === undefined) return scope;
  if (partitions.first !== partitions.last) {
    throw new ValueError(
      `${type}: a token limits rows within one partition only; give all values of the PartitionKey`,
    );
  }
  const bounds = boundsOf(definition.rowKey, rows as KeyValues);
  return bounds === undefined
    ? scope
    : { ...scope, startRowKey: bounds.first, endRowKey: bounds.last };
}

/** Undefined when it is all keys. */
function boundsOf(template: KeyTemplate, values: KeyValues) {
  const { text, isWhole } = prefixOf(template, values);
  if (isWhole && text === '') {
    throw new ValueError('a token cannot be limited to an empty key: it would have no limit');
  }
  if (text === '') return undefined;
  return { first: text, last: isWhole ? text : text + lastCharacter };
}
