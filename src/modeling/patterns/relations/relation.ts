import type { Clock } from '../../../base/clock.js';
import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, NumberNames, ReadOf } from '../../definition/shapes.js';
import { etagOf, type Stored } from '../../definition/stored-entity.js';
import { DefinitionError } from '../../rows/model-error.js';
import { nameOfKey, placeOfKey } from '../../rows/row-parts.js';
import type { RowKey } from '../../rows/row.js';
import type { ContentionOptions } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { type EntityNotFoundError } from '../../table/errors.js';
import { absentEntityError } from '../../table/refusals.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Transaction } from '../../table/transaction.js';
import { countersBetween } from '../derived-data/table-counters.js';

/** The options of a one-to-many relation. */
export interface OneToManyOptions<
  P extends AnyDefinition,
  C extends AnyDefinition,
> extends ContentionOptions {
  readonly parent: P;
  readonly child: C;
  /** The table of both. A parent and its children are in one partition. */
  readonly table: TableGateway;
  /** The parent of a child. Must be pure. */
  readonly parentOf: (child: ReadOf<C>) => KeyOf<P>;
  /**
   * The property of the parent that counts its children, such as `int32().default(0)`. Absent where
   * the table has a `counter` of the children in their parent, in this table, which refuses those
   * without one (`ifAbsent: 'refuse'`).
   */
  readonly count?: NumberNames<P>;
  /**
   * Determines which marks of finished moves are a day old; must agree with the service's to far
   * less than that. The system's when absent.
   */
  readonly clock?: Clock;
}

/**
 * Adds a change of a parent's count to a transaction, after a point read of the parent. Where the
 * table counts, only requires the parent that gets a child.
 */
export async function addCount<P extends AnyDefinition, C extends AnyDefinition>(
  options: OneToManyOptions<P, C>,
  writes: Transaction,
  parentKey: KeyOf<P>,
  change: number,
): Promise<void> {
  const { parent, count } = options;
  if (count === undefined) {
    // A child that the counter of the table does not count needs a parent as well.
    if (change > 0) writes.require(parent, parentKey);
    return;
  }
  const before = await parentOrThrow(options, parentKey);
  const next = { ...before, [count]: Number(Reflect.get(before, count)) + change };
  writes.replace(parent, next, { ifMatch: etagOf(before) });
}

/** Throws `DefinitionError` for a relation whose children nobody counts, or two do. */
export function requireCounted<P extends AnyDefinition, C extends AnyDefinition>({
  parent,
  child,
  table,
  count,
}: OneToManyOptions<P, C>): void {
  const counters = countersBetween(table, child.type, parent.type);
  const counting = counters.find(({ measures }) => measures.some((name) => name === count));
  if (counting !== undefined) {
    throw new DefinitionError(
      `${parent.type}.${String(count)} is counted by a counter of the table: leave count out`,
    );
  }
  if (count !== undefined) {
    const model = parent.properties[count]?.model;
    if (model?.kind === 'int32' && model.flags.has('default')) return;
    throw new DefinitionError(`${parent.type}.${count} cannot count: make it int32().default(0)`);
  }
  if (counters.some(({ needsSummary }) => needsSummary)) return;
  throw new DefinitionError(
    counters.length === 0
      ? `no counter of the table counts ${child.type} in ${parent.type}: give the property that does ` +
          '(count), or declare a counter in openModel and give the table of the model'
      : `the counter of ${child.type} makes a ${parent.type} that is not there, and a child needs a ` +
          "parent: declare it with ifAbsent: 'refuse'",
  );
}

/**
 * Throws `DefinitionError` when each counter of the table counts a child in another row than its
 * parent. Both keys come from functions, so only a child shows it.
 */
export function requireSameParent<P extends AnyDefinition, C extends AnyDefinition>(
  { parent, child, table, parentOf, count }: OneToManyOptions<P, C>,
  entity: ReadOf<C> & object,
): void {
  if (count !== undefined) return;
  const own = nameOfKey(codecOf(parent).key(parentOf(entity)));
  const counted = countersBetween(table, child.type, parent.type).map((each) =>
    each.summaryOf(entity),
  );
  if (counted.some((key) => key === undefined || nameOfKey(key) === own)) return;
  const [key] = counted;
  throw new DefinitionError(
    `the counter of ${child.type} counts a child in another ${parent.type} than its parent` +
      `${key === undefined ? '' : `, in ${placeOfKey(key)}`}: give both the same function ` +
      '(keyOf of the counter, parentOf of the relation)',
  );
}

/** One point read. Throws `EntityNotFoundError` when the parent does not exist. */
export async function parentOrThrow<P extends AnyDefinition, C extends AnyDefinition>(
  { parent, table }: OneToManyOptions<P, C>,
  key: KeyOf<P>,
): Promise<Stored<ReadOf<P>>> {
  const found = await new Entities(parent, table).get(key);
  if (found !== undefined) return found;
  throw notFound(parent.type, table.table, codecOf(parent).key(key));
}

export function notFound(type: string, table: string, key: RowKey): EntityNotFoundError {
  const { partitionKey, rowKey } = key;
  return absentEntityError(type, key, { table, operation: 'get', partitionKey, rowKey });
}

/** The property that holds the type of a row. */
export function typeNameOf({ system }: AnyDefinition): string {
  return system.type ?? 'EntityType';
}
