import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { lazyList, type List } from '../../base/lazy-list.js';
import type { Containers } from '../containers/containers.js';
import type { DeletedContainer } from '../containers/soft-deleted-containers.js';
import { firstOfUsers } from './container-name.js';
import type { ContainerDraft, ContainerRecord } from './container-record.js';
import { deletionId, idOfDeletion } from './deletion-id.js';
import { leaseProperties } from './lease.js';
import { deletionInfo } from './retention.js';
import type { ContainerList, ContainerProperties, ContainerQuery } from './types.js';

/** The data from which a list is made. */
interface Listing {
  readonly containers: Containers<ContainerRecord, ContainerDraft>;
  readonly account: string;
  readonly nowMicros: number;
  readonly memory: MemoryBudget | undefined;
  /** Whether all containers of the account have immutable storage. */
  readonly hasImmutableStorage: boolean;
}

/** One page of containers in order of their names. */
export async function listContainers(
  { containers, account, memory, ...shown }: Listing,
  { prefix, from = '', limit, includesSystem = false }: ContainerQuery,
): Promise<ContainerList> {
  const { records, next } = await containers.list(
    account,
    {
      limit,
      from: includesSystem || from > firstOfUsers ? from : firstOfUsers,
      ...(prefix === undefined ? {} : { startsWith: prefix }),
    },
    memory,
  );
  const listed = lazyList(records, (record) => containerProperties(record, shown));
  return next === undefined ? { containers: listed } : { containers: listed, next };
}

/**
 * The same page including soft-deleted containers. These follow the present container of their
 * name, in the order of their creation.
 */
export async function listWithDeleted(
  listing: Listing,
  query: ContainerQuery,
): Promise<ContainerList> {
  const { containers, account, memory } = listing;
  const { limit, prefix } = query;
  const from = query.from === undefined ? undefined : positionIn(query.from);
  const live = await listContainers(listing, liveQuery(query, from));
  const kept = await containers.listDeleted(
    account,
    {
      limit,
      ...(prefix === undefined ? {} : { startsWith: prefix }),
      ...(from === undefined ? {} : { from: { identity: from.name, id: from.id } }),
    },
    memory,
  );
  const lists: readonly List<PositionedContainer>[] = [
    lazyList(live.containers, (properties) => ({
      position: { name: properties.name, id: ofLive },
      properties,
    })),
    lazyList(kept.containers, ({ record, deleted }) => ({
      position: { name: record.name, id: record.id },
      properties: deletedProperties({ record, deleted }, listing),
    })),
  ];
  const ends: ListPosition[] = [];
  if (live.next !== undefined) ends.push({ name: live.next, id: ofLive });
  if (kept.next !== undefined) ends.push({ name: kept.next.identity, id: kept.next.id });
  const { length, next } = pageEnd(lists, limit, ends.toSorted(byPosition)[0]);
  const page = firstOf(lists, length);
  return next === undefined ? { containers: page } : { containers: page, next: textOf(next) };
}

/** The position of a container among all, deleted ones included. */
interface ListPosition {
  readonly name: string;
  /** `ofLive`, or the id of a deleted container. */
  readonly id: number;
}

interface PositionedContainer {
  readonly position: ListPosition;
  readonly properties: ContainerProperties;
}

/** Stands for the container that has the name now. Ids begin with 1. */
const ofLive = 0;
/** A text that sorts after a name and before the next one. */
const afterName = '\0';

function textOf({ name, id }: ListPosition): string {
  return id === ofLive ? name : `${name}/${deletionId(id)}`;
}

/** Where a page begins whose first container is this one, in a list with deleted ones. */
export function startOfContainer(container: ContainerProperties): string {
  return textOf(positionOf(container));
}

/** Where a page begins whose first container is the one after this. */
export function afterContainer(container: ContainerProperties): string {
  const { name, id } = positionOf(container);
  return textOf({ name, id: id + 1 });
}

function positionOf({ name, deleted }: ContainerProperties): ListPosition {
  return { name, id: deleted === undefined ? ofLive : (idOfDeletion(deleted.version) ?? ofLive) };
}

function positionIn(text: string): ListPosition {
  const [name = '', id] = text.split('/');
  return { name, id: id === undefined ? ofLive : (idOfDeletion(id) ?? ofLive) };
}

function liveQuery(query: ContainerQuery, from: ListPosition | undefined): ContainerQuery {
  if (from === undefined) return query;
  return { ...query, from: from.id === ofLive ? from.name : `${from.name}${afterName}` };
}

function byPosition(left: ListPosition, right: ListPosition): number {
  if (left.name !== right.name) return left.name < right.name ? -1 : 1;
  return left.id - right.id;
}

/**
 * How many containers a page has, and where the next one begins. `end`: the containers behind it
 * are not known.
 */
function pageEnd(
  lists: readonly List<PositionedContainer>[],
  limit: number,
  end: ListPosition | undefined,
): { readonly length: number; readonly next: ListPosition | undefined } {
  let length = 0;
  for (const { position } of merged(lists)) {
    if (end !== undefined && byPosition(position, end) >= 0) break;
    if (length === limit) return { length, next: position };
    length += 1;
  }
  return { length, next: end };
}

function firstOf(
  lists: readonly List<PositionedContainer>[],
  length: number,
): ContainerList['containers'] {
  return {
    length,
    *[Symbol.iterator]() {
      let left = length;
      for (const { properties } of merged(lists)) {
        if (left === 0) return;
        left -= 1;
        yield properties;
      }
    },
  };
}

/** Merges lists of containers, each in order, into one in order. */
function* merged(
  lists: readonly List<PositionedContainer>[],
): Generator<PositionedContainer, void, void> {
  const heads = lists.map((list) => {
    const rest = list[Symbol.iterator]();
    return { rest, next: rest.next() };
  });
  for (;;) {
    let first: (typeof heads)[number] | undefined;
    let found: PositionedContainer | undefined;
    for (const head of heads) {
      if (head.next.done === true) continue;
      const { value } = head.next;
      if (found !== undefined && byPosition(found.position, value.position) < 0) continue;
      [first, found] = [head, value];
    }
    if (first === undefined || found === undefined) return;
    yield found;
    first.next = first.rest.next();
  }
}

/** The facts besides the record on which the properties of a container depend. */
type ShownOptions = Pick<Listing, 'nowMicros' | 'hasImmutableStorage'>;

/** The properties of a container in answers. */
export function containerProperties(
  { name, metadata, publicAccess, modifiedMicros, lease, isImmutable }: ContainerRecord,
  { nowMicros, hasImmutableStorage }: ShownOptions,
): ContainerProperties {
  return {
    name,
    metadata,
    publicAccess,
    modifiedMicros,
    lease: leaseProperties(lease, nowMicros),
    hasImmutableStorage: isImmutable || hasImmutableStorage,
  };
}

function deletedProperties(
  { record, deleted }: DeletedContainer<ContainerRecord>,
  shown: ShownOptions,
): ContainerProperties {
  return {
    ...containerProperties(record, shown),
    deleted: { version: deletionId(record.id), ...deletionInfo(deleted, shown.nowMicros) },
  };
}
