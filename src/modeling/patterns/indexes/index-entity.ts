import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyTemplate } from '../../definition/key-template.js';
import { DefinitionError } from '../../rows/model-error.js';
import { stringUnitsMax } from '../../rows/row-size.js';
import type { Each, IndexScope, IndexTemplate, ListIndex, RowPlace } from './index-declaration.js';

interface ListOptions<D extends AnyDefinition, S extends boolean, E = unknown> extends IndexScope<
  D,
  S,
  E
> {
  /** Stored name of the property with the keys. `Keys` when absent. */
  readonly list?: string;
  /**
   * UTF-16 code units of a list that one row holds before further ones go into rows of their own,
   * 128 to 450,000. 32,768 (64 KiB) when absent. Higher values make fewer rows and larger writes.
   */
  readonly listUnitsMax?: number;
}

/** Options of an index whose lists are in the partition of their entities. */
export interface IndexEntityBesideOptions<
  D extends AnyDefinition,
  RK extends KeyTemplate,
  S extends boolean,
  E = unknown,
> extends ListOptions<D, S, E> {
  readonly place: 'same-partition';
  readonly rowKey: IndexTemplate<D, S, RK, E>;
}

/** Options of an index whose lists are in another partition or table. */
export interface IndexEntityElsewhereOptions<
  D extends AnyDefinition,
  PK extends KeyTemplate,
  RK extends KeyTemplate,
  S extends boolean,
  Place extends 'other-partition' | 'other-table',
  E = unknown,
> extends ListOptions<D, S, E> {
  readonly place: Place;
  readonly partitionKey: IndexTemplate<D, S, PK, E>;
  readonly rowKey: IndexTemplate<D, S, RK, E>;
}

/** Options of an index whose lists are blobs. */
export interface IndexBlobOptions<
  D extends AnyDefinition,
  RK extends KeyTemplate,
  S extends boolean,
  E = unknown,
> extends IndexScope<D, S, E> {
  readonly place: 'blob';
  /** The name of the blob of a value. */
  readonly name: IndexTemplate<D, S, RK, E>;
}

/** The PartitionKey of a list in a blob. */
export type NoPartition = KeyTemplate<readonly []>;

/**
 * Index entities: for each value, such as the last name Jones, one list of the keys of all entities
 * with it. Values need not be unique.
 *
 * - `same-partition`: an entity in the partition of the entities, RowKey by `rowKey`, with their
 *   RowKeys. It changes in the same entity group transaction as the entity.
 * - `other-partition`, `other-table`: an entity elsewhere, with `PartitionKey/RowKey` of each, for
 *   values across partitions. The worker keeps it up to date.
 * - `blob`: a blob for each value, one `PartitionKey/RowKey` per line, of any length. The worker
 *   keeps it up to date.
 *
 * A list that is too long for a row continues in further rows. Every change of a list writes a row
 * of it, so entities that share a value are written one after another.
 */
export function indexEntity<
  D extends AnyDefinition,
  const RK extends KeyTemplate,
  const S extends boolean = false,
  const E extends Each<D> | undefined = undefined,
>(
  options: IndexEntityBesideOptions<D, RK, S, E>,
): ListIndex<D, D['partitionKey'], RK, 'same-partition'>;
export function indexEntity<
  D extends AnyDefinition,
  const PK extends KeyTemplate,
  const RK extends KeyTemplate,
  const Place extends 'other-partition' | 'other-table',
  const S extends boolean = false,
  const E extends Each<D> | undefined = undefined,
>(options: IndexEntityElsewhereOptions<D, PK, RK, S, Place, E>): ListIndex<D, PK, RK, Place>;
export function indexEntity<
  D extends AnyDefinition,
  const RK extends KeyTemplate,
  const S extends boolean = false,
  const E extends Each<D> | undefined = undefined,
>(options: IndexBlobOptions<D, RK, S, E>): ListIndex<D, NoPartition, RK, 'blob'>;
export function indexEntity<D extends AnyDefinition, S extends boolean>(
  options:
    | IndexEntityBesideOptions<D, KeyTemplate, S>
    | IndexEntityElsewhereOptions<D, KeyTemplate, KeyTemplate, S, 'other-partition' | 'other-table'>
    | IndexBlobOptions<D, KeyTemplate, S>,
): ListIndex<D, KeyTemplate, KeyTemplate, RowPlace | 'blob'> {
  const isBlob = options.place === 'blob';
  const { list = 'Keys', listUnitsMax = stringUnitsMax } = isBlob ? {} : options;
  if (!(listUnitsMax >= 128 && listUnitsMax <= 450_000)) {
    throw new DefinitionError(`listUnitsMax is 128 to 450,000, not ${listUnitsMax}`);
  }
  const isBeside = options.place === 'same-partition';
  return Object.freeze({
    kind: 'list',
    place: options.place,
    partitionKey: isBlob ? noPartition : isBeside ? undefined : options.partitionKey,
    rowKey: isBlob ? options.name : options.rowKey,
    listName: list,
    unitsMax: listUnitsMax,
    isSparse: options.sparse ?? false,
    when: options.when,
    each: options.each as Each<D> | undefined,
  });
}

const noPartition = (): NoPartition => ({ texts: [''], parts: [] });
