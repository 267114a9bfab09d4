import type { Clock } from '../../../base/clock.js';
import { codecOf } from '../../definition/codec.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { KeyOf, NumberNames, ReadOf } from '../../definition/shapes.js';
import { etagOf, type Stored } from '../../definition/stored-entity.js';
import type { RowKey } from '../../rows/row.js';
import type { ContentionOptions } from '../../table/contention.js';
import { Entities } from '../../table/entities.js';
import { type EntityNotFoundError } from '../../table/errors.js';
import { absentEntityError } from '../../table/refusals.js';
import type { TableGateway } from '../../table/gateway.js';
import type { Transaction } from '../../table/transaction.js';

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
  /** The property of the parent that counts its children, such as `int32().default(0)`. */
  readonly count: NumberNames<P>;
  /**
   * Determines which marks of finished moves are a day old; must agree with the service's to far
   * less than that. The system's when absent.
   */
  readonly clock?: Clock;
}

/** Adds a change of a parent's count to a transaction, after a point read of the parent. */
export async function addCount<P extends AnyDefinition, C extends AnyDefinition>(
  options: OneToManyOptions<P, C>,
  writes: Transaction,
  parentKey: KeyOf<P>,
  change: number,
): Promise<void> {
  const { parent, count } = options;
  const before = await parentOrThrow(options, parentKey);
  const next = { ...before, [count]: Number(Reflect.get(before, count)) + change };
  writes.replace(parent, next, { ifMatch: etagOf(before) });
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
