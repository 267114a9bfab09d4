import { own } from '../../../base/own.js';
import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { PropertyKind } from '../../definition/property.js';
import { rowKeyOf } from '../../definition/stored-entity.js';
import { Instant } from '../../rows/instant.js';
import { ValueError } from '../../rows/model-error.js';
import { compareKeys } from '../../rows/text-order.js';

/** The first rows in the order of a property; those without a value are behind all others. */
export interface ShardQueryOrder {
  readonly property: string;
  /** The greatest first; false when absent. */
  readonly descending?: boolean;
  /** How many rows, from 1 to 10,000. */
  readonly first: number;
}

interface Tagged<E> {
  readonly shard: string;
  readonly entity: E;
}

const firstMax = 10_000;
const ordered: ReadonlySet<PropertyKind> = new Set([
  'string',
  'enumeration',
  'int32',
  'int64',
  'double',
  'boolean',
  'guid',
  'instant',
  'dateTime',
]);

/** Throws `ValueError` for an order that cannot be made. */
export function checkOrder(
  { type, properties }: AnyDefinition,
  { property, first }: ShardQueryOrder,
): void {
  const kind = own(properties, property)?.model.kind;
  if (kind === undefined) throw new ValueError(`${type} has no property '${property}'`);
  if (!ordered.has(kind)) {
    throw new ValueError(`${type}.${property} is of the kind ${kind}, whose values have no order`);
  }
  if (Number.isSafeInteger(first) && first >= 1 && first <= firstMax) return;
  throw new ValueError(
    `first: ${first}; rows in the order of a property are held until all are read: give a whole ` +
      `number from 1 to ${firstMax}, or keep a table in that order`,
  );
}

/** Reads all rows, holds at most twice as many as requested, and returns the first of them. */
export async function* topRows<E extends object>(
  rows: AsyncIterable<Tagged<E>>,
  { property, descending = false, first }: ShardQueryOrder,
): AsyncGenerator<Tagged<E>, void, undefined> {
  const compare = (left: Tagged<E>, right: Tagged<E>): number =>
    compareRows(left.entity, right.entity, property, descending);
  let held: Tagged<E>[] = [];
  for await (const row of rows) {
    held.push(row);
    if (held.length >= 2 * first) held = held.sort(compare).slice(0, first);
  }
  yield* held.sort(compare).slice(0, first);
}

/** Rows of one value are in the order of their keys. */
function compareRows(left: object, right: object, property: string, descending: boolean): number {
  const [one, other] = [valueIn(left, property), valueIn(right, property)];
  if (one !== undefined && other !== undefined && one !== other) {
    return one < other === descending ? 1 : -1;
  }
  if (one !== other) return one === undefined ? 1 : -1;
  return compareKeys(rowKeyOf(left), rowKeyOf(right));
}

/** The value of the property for comparisons; undefined when it is absent or NaN. */
function valueIn(entity: object, property: string): bigint | number | string | undefined {
  const value = own(entity as Readonly<Record<string, unknown>>, property);
  if (value instanceof Date) return value.getTime();
  if (value instanceof Instant) return value.ticks;
  switch (typeof value) {
    case 'boolean':
      return Number(value);
    case 'number':
      return Number.isNaN(value) ? undefined : value;
    case 'bigint':
    case 'string':
      return value;
    default:
      return undefined;
  }
}
