import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type {
  CopyIndex,
  Each,
  IndexScope,
  IndexTemplate,
  NamesOf,
  RowPlace,
} from './index-declaration.js';

/** Options of an index of copies. */
export interface CopyIndexOptions<
  D extends AnyDefinition,
  RK extends KeyTemplate,
  Inc extends readonly NamesOf<D>[],
  S extends boolean,
  E = unknown,
> extends IndexScope<D, S, E> {
  /**
   * The RowKey of the copies. In the table of the entities a prefix keeps them apart from these:
   * ``key`email_${p.email}` ``.
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
  options: CopyIndexOptions<D, RK, Inc, S, E>,
): CopyIndex<D, D['partitionKey'], RK, Inc[number], 'same-partition'> {
  return copyIndex('same-partition', undefined, options);
}

/** Declares copies in a place. */
export function copyIndex<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  Inc extends readonly NamesOf<D>[],
  S extends boolean,
  E extends Each<D> | undefined,
  Place extends RowPlace,
>(
  place: Place,
  partitionKey: IndexTemplate<D, S, PK, E> | undefined,
  options: CopyIndexOptions<D, RK, Inc, S, E>,
): CopyIndex<D, PK, RK, Inc[number], Place> {
  return Object.freeze({
    kind: 'copy',
    place,
    partitionKey,
    rowKey: options.rowKey,
    include: options.include ?? 'all',
    isSparse: options.sparse ?? false,
    when: options.when,
    each: options.each,
  });
}
