import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type {
  CopyIndex,
  IndexScope,
  IndexTemplate,
  NamesOf,
  RowPlace,
} from './index-declaration.js';

/** Of an index whose copies are in another partition or table. */
export interface CopyElsewhereOptions<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  Inc extends readonly NamesOf<D>[],
  S extends boolean,
> extends IndexScope<D, S> {
  readonly partitionKey: IndexTemplate<D, S, PK>;
  readonly rowKey: IndexTemplate<D, S, RK>;
  /** The properties that copies have besides those of both keys; all of them when absent. */
  readonly include?: Inc;
}

/**
 * Inter-partition secondary index: copies of the entity in other partitions of its table. A change
 * of the entity writes an intent in the same transaction, and the worker brings the copies up to
 * date afterwards: until then a reader finds them as they were.
 *
 * Both keys together must be unique among all entities. An entity whose key is taken stays without
 * a copy, and the worker reports an `IndexValueTakenError`.
 */
export function otherPartition<
  D extends AnyDefinition,
  const PK extends KeyTemplate,
  const RK extends KeyTemplate,
  const Inc extends readonly NamesOf<D>[] = readonly NamesOf<D>[],
  const S extends boolean = false,
>(
  options: CopyElsewhereOptions<D, PK, RK, Inc, S>,
): CopyIndex<D, PK, RK, Inc[number], 'other-partition'> {
  return copyElsewhere('other-partition', options);
}

/** A declaration of copies that are not in the partition of their entity. */
export function copyElsewhere<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  Inc extends readonly NamesOf<D>[],
  S extends boolean,
  Place extends RowPlace,
>(
  place: Place,
  options: CopyElsewhereOptions<D, PK, RK, Inc, S>,
): CopyIndex<D, PK, RK, Inc[number], Place> {
  return Object.freeze({
    kind: 'copy',
    place,
    partitionKey: options.partitionKey,
    rowKey: options.rowKey,
    include: options.include ?? 'all',
    isSparse: options.sparse ?? false,
    when: options.when,
  });
}
