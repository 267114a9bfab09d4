import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type { CopyIndex, Each, IndexScope, IndexTemplate, NamesOf } from './index-declaration.js';

/** Options of an index whose copies are in the partition of their entities. */
export interface SamePartitionOptions<
  D extends AnyDefinition,
  RK extends KeyTemplate,
  Inc extends readonly NamesOf<D>[],
  S extends boolean,
  E = unknown,
> extends IndexScope<D, S, E> {
  /**
   * The RowKey of the copies. A prefix keeps them apart from entities: ``key`email_${p.email}` ``.
   */
  readonly rowKey: IndexTemplate<D, S, RK, E>;
  /** The properties in copies besides those of both keys; all when absent. */
  readonly include?: Inc;
}

/**
 * An intra-partition secondary index: copies of the entity under other RowKeys of its partition.
 * They change in the same entity group transaction as the entity, so no reader sees them differ.
 * The values must be unique among the entities of a partition: a second entity with the same value
 * is refused with `IndexValueTakenError`, and nothing of it is written.
 */
export function samePartition<
  D extends AnyDefinition,
  const RK extends KeyTemplate,
  const Inc extends readonly NamesOf<D>[] = readonly NamesOf<D>[],
  const S extends boolean = false,
  const E extends Each<D> | undefined = undefined,
>(
  options: SamePartitionOptions<D, RK, Inc, S, E>,
): CopyIndex<D, D['partitionKey'], RK, Inc[number], 'same-partition'> {
  return Object.freeze({
    kind: 'copy',
    place: 'same-partition',
    partitionKey: undefined,
    rowKey: options.rowKey,
    include: options.include ?? 'all',
    isSparse: options.sparse ?? false,
    when: options.when,
    each: options.each,
  });
}
