import { unreachable } from '../../base/invariant.js';
import { pageSize } from '../tables/page-size.js';
import { partitionsOf } from '../tables/partition-counter.js';
import type { EntityPage, EntityPosition, EntityQuery } from '../tables/types.js';
import type { PageShape } from './paging-policy.js';

/**
 * A page of an entity query in a given shape. `read` runs the query without a shape. Consecutive
 * pages return every entity once and in order: each page has an entity or advances the position,
 * and of any three in a row one has an entity or is the last.
 */
export async function shapedEntities(
  read: (query: EntityQuery) => Promise<EntityPage>,
  query: EntityQuery,
  shape: PageShape,
): Promise<EntityPage> {
  const top = pageSize(query.top);
  if (top === 0) return read(query);
  // Reads at least one entity, so that the next one is known for an empty page.
  const plain = await read({ ...query, top: Math.min(top, Math.max(shape.countMax, 1)) });
  const page = cut(plain, keptCount(plain, query.from, shape));
  const next = tokenOf(page, query.from, shape);
  const { next: _, ...rest } = page;
  return next === undefined ? rest : { ...rest, next };
}

function keptCount(
  { entities }: EntityPage,
  from: EntityPosition | undefined,
  { countMax, endsWithPartition }: PageShape,
): number {
  const [first] = entities;
  if (first === undefined) return 0;
  // A position at the next entity cannot advance without returning it.
  if (countMax === 0) return isAt(first, from) ? 1 : 0;
  if (!endsWithPartition) return entities.length;
  const end = entities.findIndex(({ partitionKey }) => partitionKey !== first.partitionKey);
  return end < 0 ? entities.length : end;
}

function isAt(
  { partitionKey, rowKey }: Required<EntityPosition>,
  from: EntityPosition | undefined,
): boolean {
  return from !== undefined && from.partitionKey === partitionKey && from.rowKey === rowKey;
}

/** The page cut to a number of entities; the one after them is the next. */
function cut(page: EntityPage, count: number): EntityPage {
  const { entities, report } = page;
  const next = entities[count];
  if (next === undefined) return page;
  const { partitionKey, rowKey } = next;
  const kept = entities.slice(0, count);
  return {
    entities: kept,
    partitions: partitionsOf(kept),
    report: { ...report, rowsReturned: count },
    next: { partitionKey, rowKey },
  };
}

/** The position of the next page: after the last entity and not after the next one. */
function tokenOf(
  { entities, next }: EntityPage,
  from: EntityPosition | undefined,
  { token, promisesMore }: PageShape,
): EntityPosition | undefined {
  const last = entities.at(-1);
  if (next === undefined) {
    if (!promisesMore) return undefined;
    if (last !== undefined) return after(last);
    // There are no results, but it may take the client one more request to find out.
    return from === undefined ? { partitionKey: '', rowKey: '' } : undefined;
  }
  switch (token) {
    case 'next':
      return next;
    case 'between':
      return last === undefined ? next : after(last);
    case 'partition':
      return startsPartition(next, last, from) ? { partitionKey: next.partitionKey } : next;
    default:
      return unreachable(token);
  }
}

/** The lowest character of keys: no entity is between the last one and its key followed by this. */
const lowestCharacter = ' ';

function after({ partitionKey, rowKey }: Required<EntityPosition>): EntityPosition {
  return { partitionKey, rowKey: `${rowKey}${lowestCharacter}` };
}

/** True when the next page may start at the beginning of its first entity's partition. */
function startsPartition(
  next: EntityPosition,
  last: EntityPosition | undefined,
  from: EntityPosition | undefined,
): boolean {
  const { partitionKey } = next;
  if (last !== undefined) return last.partitionKey !== partitionKey;
  return from?.partitionKey !== partitionKey;
}
