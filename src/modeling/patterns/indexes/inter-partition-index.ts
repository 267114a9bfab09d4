import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import type { CopyIndex, Each, IndexTemplate, NamesOf } from './index-declaration.js';
import { copyIndex, type CopyIndexOptions } from './intra-partition-index.js';

/** Options of an index whose copies are in another partition or table. */
export interface CopyElsewhereOptions<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  Inc extends readonly NamesOf<D>[],
  S extends boolean,
  E = unknown,
> extends CopyIndexOptions<D, RK, Inc, S, E> {
  readonly partitionKey: IndexTemplate<D, S, PK, E>;
}

/**
 * An inter-partition secondary index: copies of the entity in other partitions of its table. A
 * change of the entity writes an intent in the same transaction, and the worker updates the copies
 * afterwards; until then readers find the former copies.
 *
 * Both keys together must be unique among all entities. An entity whose key is taken gets no copy,
 * and the worker reports an `IndexValueTakenError`.
 */
export function otherPartition<
  D extends AnyDefinition,
  const PK extends KeyTemplate,
  const RK extends KeyTemplate,
  const Inc extends readonly NamesOf<D>[] = readonly NamesOf<D>[],
  const S extends boolean = false,
  const E extends Each<D> | undefined = undefined,
>(
  options: CopyElsewhereOptions<D, PK, RK, Inc, S, E>,
): CopyIndex<D, PK, RK, Inc[number], 'other-partition'> {
  return copyIndex('other-partition', options.partitionKey, options);
}
