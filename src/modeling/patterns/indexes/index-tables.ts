import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type { CopyElsewhereOptions } from './inter-partition-index.js';
import { copyIndex } from './intra-partition-index.js';
import type { CopyIndex, Each, NamesOf } from './index-declaration.js';

/**
 * An index table: another table with a row for each entity under another key, such as Town, then
 * LastName, then what makes it unique. `include` chooses what the row contains:
 *
 * - absent: a full copy. One look-up; every change of the entity changes the row.
 * - `[]`: normalised. The row has the keys of the entity, which takes a second look-up.
 * - some names: partly normalised. One look-up for these, a second one for the rest.
 *
 * `each` makes a row for each item of a list: movies by actor, with their genre to find the rest.
 *
 * The rows identify their entities by the values of their keys. When the PartitionKey of the
 * entities is a hash, the index maps plain values to hashed keys, and ranges follow the order of
 * the values. The worker keeps it up to date, as with `otherPartition`. Its gateway is passed when
 * the entities are opened.
 */
export function indexTable<
  D extends AnyDefinition,
  const PK extends KeyTemplate,
  const RK extends KeyTemplate,
  const Inc extends readonly NamesOf<D>[] = readonly NamesOf<D>[],
  const S extends boolean = false,
  const E extends Each<D> | undefined = undefined,
>(
  options: CopyElsewhereOptions<D, PK, RK, Inc, S, E>,
): CopyIndex<D, PK, RK, Inc[number], 'other-table'> {
  return copyIndex('other-table', options.partitionKey, options);
}
