import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import { copyElsewhere, type CopyElsewhereOptions } from './inter-partition-index.js';
import type { CopyIndex, NamesOf } from './index-declaration.js';

/**
 * Index table: a table of its own with a row for each entity under another key, such as Town, then
 * LastName, then what makes it unique. `include` chooses the strategy:
 *
 * - absent: full copy. One look-up; every change of the entity changes the row.
 * - `[]`: normalised. The row has the keys of the entity, which takes a second look-up.
 * - some names: partly normalised. One look-up for these, a second for the rest.
 *
 * The rows name their entities by the values of their keys. Over entities whose PartitionKey is a
 * hash the index so maps the plain value to the hashed key, and ranges work in the order of values.
 * Kept up to date by the worker, as `otherPartition` is. Its gateway is given when the entities are
 * opened.
 */
export function indexTable<
  D extends AnyDefinition,
  const PK extends KeyTemplate,
  const RK extends KeyTemplate,
  const Inc extends readonly NamesOf<D>[] = readonly NamesOf<D>[],
  const S extends boolean = false,
>(
  options: CopyElsewhereOptions<D, PK, RK, Inc, S>,
): CopyIndex<D, PK, RK, Inc[number], 'other-table'> {
  return copyElsewhere('other-table', options);
}
