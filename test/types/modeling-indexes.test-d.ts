// What must compile with indexes, and what must not. Only the compiler runs this file.
import {
  boolean,
  defineEntity,
  double,
  int32,
  json,
  key,
  list,
  string,
  type KeyOf,
  type ReadOf,
  type RowKeyPrefixOf,
  type Stored,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  indexEntity,
  indexedEntitiesOf,
  indexTable,
  otherPartition,
  samePartition,
  withIndexes,
  type ListBlobs,
} from '../../src/modeling/patterns/indexes/index.js';
import { counter } from '../../src/modeling/model/index.js';
import type { Outbox } from '../../src/modeling/patterns/transactional-outbox/index.js';
import { asEmployee, numbered } from '../modeling/support/employees.js';

type Equal<A, B> =
  // oxlint-disable-next-line no-unnecessary-type-parameters -- the type of a condition shows all
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles when the types are the same. */
function same<A, B>(...proof: Equal<A, B> extends true ? [] : [expected: B, found: A]): void {
  void proof;
}

declare const table: TableGateway;
declare const outbox: Outbox;
declare const blobs: ListBlobs;

const FlaggedEmployee = defineEntity({
  ...asEmployee,
  properties: {
    ...numbered,
    email: string(),
    lastName: string(),
    isActive: boolean(),
    level: int32().default(0),
    town: string().optional(),
    salary: string().encrypted(),
    search: string().computed({ lastName: string() }, ({ lastName }) => lastName.toLowerCase()),
  },
});

const indexes = withIndexes(FlaggedEmployee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
  active: samePartition({
    rowKey: (p) => key`active_${p.email}`,
    include: ['lastName'],
    when: ({ isActive, level }) => isActive && level > 0,
  }),
  search: otherPartition({
    partitionKey: (p) => key`search_${p.search}`,
    rowKey: (p) => key`${p.department}_${p.id.padded(6)}`,
    include: [],
  }),
  town: indexTable({
    sparse: true,
    partitionKey: (p) => key`${p.town}`,
    rowKey: (p) => key`${p.lastName}_${p.id.padded(6)}`,
    include: ['town', 'level'],
  }),
  lastName: indexEntity({ place: 'same-partition', rowKey: (p) => key`${p.lastName}` }),
  everyTown: indexEntity({ place: 'blob', sparse: true, name: (p) => key`${p.town}` }),
});

const employees = indexedEntitiesOf(indexes, {
  table,
  tables: { town: table },
  blobs: { everyTown: blobs },
  outbox,
});

// Rows have the properties of both keys and those that the index includes.
type Rows = (typeof indexes)['rows'];
same<
  ReadOf<Rows['email']>,
  {
    readonly department: string;
    readonly id: number;
    readonly email: string;
    readonly lastName: string;
    readonly isActive: boolean;
    readonly level: number;
    readonly salary: string;
    readonly search: string;
    readonly town?: string | undefined;
  }
>();
same<
  ReadOf<Rows['active']>,
  {
    readonly department: string;
    readonly id: number;
    readonly email: string;
    readonly lastName: string;
  }
>();
same<
  ReadOf<Rows['search']>,
  { readonly department: string; readonly id: number; readonly search: string }
>();
// Properties in the key of a sparse index are always present in its rows.
same<
  ReadOf<Rows['town']>,
  {
    readonly department: string;
    readonly id: number;
    readonly level: number;
    readonly lastName: string;
    readonly town: string;
  }
>();

// A lookup needs all values of the key.
same<KeyOf<Rows['email']>, { readonly department: string; readonly email: string }>();
same<
  KeyOf<Rows['town']>,
  { readonly town: string; readonly lastName: string; readonly id: number }
>();
same<KeyOf<Rows['lastName']>, { readonly department: string; readonly lastName: string }>();
same<KeyOf<Rows['everyTown']>, { readonly town: string }>();
const prefix: RowKeyPrefixOf<Rows['town']> = { lastName: 'Smith' };
void prefix;

void employees.by.email.get({ department: 'Sales', email: 'x' });
// @ts-expect-error a part of the key is missing
void employees.by.email.get({ email: 'x' });
// @ts-expect-error the value has another type
void employees.by.town.get({ town: 'Redmond', lastName: 'Smith', id: '1' });
// @ts-expect-error a later part without the one before it
employees.by.town.query({ partition: { town: 'Redmond' }, prefix: { id: 1 } });
// @ts-expect-error the index does not include the property
employees.by.active.query({ partition: { department: 'S' }, where: (p) => p.isActive.eq(true) });
employees.by.town.query({ partition: { town: 'R' }, where: (p) => p.level.gt(1) });
// @ts-expect-error copies are not written by hand
void employees.by.email.insert;
// @ts-expect-error lists have no rows to query
void employees.by.lastName.query;

// Continuing to the entities returns complete ones.
void (async () => {
  const found = await employees.by.town.entity({ town: 'R', lastName: 'S', id: 1 });
  same<typeof found, Stored<ReadOf<typeof FlaggedEmployee>> | undefined>();
  const query = employees.by.town.query({ partition: { town: 'R' } });
  for await (const each of employees.by.town.entities(query)) {
    same<typeof each, Stored<ReadOf<typeof FlaggedEmployee>>>();
  }
  same<
    Awaited<ReturnType<typeof employees.by.lastName.keys>>,
    readonly KeyOf<typeof FlaggedEmployee>[]
  >();
});

// Keys of indexes.
withIndexes(FlaggedEmployee, {
  // @ts-expect-error an optional property without sparse
  town: samePartition({ rowKey: (p) => key`town_${p.town}` }),
});
withIndexes(FlaggedEmployee, {
  // @ts-expect-error an encrypted property, sparse or not
  salary: samePartition({ sparse: true, rowKey: (p) => key`salary_${p.salary}` }),
});
withIndexes(FlaggedEmployee, {
  // @ts-expect-error a number needs a form that sorts
  level: samePartition({ rowKey: (p) => key`level_${p.level}` }),
});
withIndexes(FlaggedEmployee, {
  // @ts-expect-error no such property to include
  email: samePartition({ rowKey: (p) => key`email_${p.email}`, include: ['name'] }),
});
withIndexes(FlaggedEmployee, {
  // @ts-expect-error a condition reads the entity as it is
  email: samePartition({ rowKey: (p) => key`email_${p.email}`, when: (e) => e.age > 3 }),
});
const Tagged = defineEntity({
  type: 'Tagged',
  properties: { name: string(), tags: list<string>(), notes: json<object>(), weight: double() },
  partitionKey: () => key`tagged`,
  rowKey: (p) => key`${p.name}`,
});
withIndexes(Tagged, {
  // @ts-expect-error a list has no order
  tag: samePartition({ rowKey: (p) => key`tag_${p.tags}` }),
});
withIndexes(Tagged, {
  // @ts-expect-error JSON has no order
  notes: samePartition({ rowKey: (p) => key`notes_${p.notes}` }),
});
withIndexes(Tagged, {
  // @ts-expect-error not every double has one text
  weight: samePartition({ rowKey: (p) => key`weight_${p.weight}` }),
});
// @ts-expect-error an index entity elsewhere needs a partition
indexEntity({ place: 'other-partition', rowKey: () => key`x` });

// @ts-expect-error the table of an index is missing
indexedEntitiesOf(indexes, { table, blobs: { everyTown: blobs }, outbox });
// @ts-expect-error the blobs of an index are missing
indexedEntitiesOf(indexes, { table, tables: { town: table }, outbox });
// @ts-expect-error the outbox is missing
indexedEntitiesOf(indexes, { table, tables: { town: table }, blobs: { everyTown: blobs } });
const beside = withIndexes(FlaggedEmployee, {
  email: samePartition({ rowKey: (p) => key`email_${p.email}` }),
});
indexedEntitiesOf(beside, { table });
// Declared where they are used.
const inlined = indexedEntitiesOf(
  withIndexes(FlaggedEmployee, {
    email: samePartition({ rowKey: (p) => key`email_${p.email}`, include: ['level'] }),
  }),
  { table },
);
export const levelOf = async (department: string, email: string): Promise<number | undefined> =>
  (await inlined.by.email.get({ department, email }))?.level;
// @ts-expect-error no index has a table of its own
indexedEntitiesOf(beside, { table, tables: {} });
// @ts-expect-error no such index
void employees.backfill('name');
void employees.verify({ indexes: ['email', 'town'] });

// The values of keys carry no ETag, so a write of them says which one it expects.
const at = { department: 'Sales', id: 1 };
// @ts-expect-error a merge of keys without ifMatch
void employees.delete(at);
void employees.delete(at, { ifMatch: 'any' });

// Lists: the key takes each text as it is, and each number by a format.
const Show = defineEntity({
  type: 'Show',
  properties: {
    name: string(),
    actors: list<string>(),
    seasons: list<number>().optional(),
    parts: list<{ readonly title: string }>(),
  },
  partitionKey: () => key`shows`,
  rowKey: (p) => key`${p.name}`,
});
const shows = withIndexes(Show, {
  season: samePartition({
    each: { season: 'seasons' },
    rowKey: (p) => key`season_${p.season.padded(2)}_${p.name}`,
    include: [],
  }),
  actor: indexEntity({
    place: 'same-partition',
    each: { actor: 'actors' },
    rowKey: (p) => key`actor_${p.actor}`,
  }),
});
same<
  ReadOf<(typeof shows)['rows']['season']>,
  { readonly name: string; readonly season: number }
>();
same<KeyOf<(typeof shows)['rows']['actor']>, { readonly actor: string }>();
withIndexes(Show, {
  season: samePartition({
    each: { season: 'seasons' },
    // @ts-expect-error a number needs a form that sorts
    rowKey: (p) => key`season_${p.season}_${p.name}`,
  }),
});
withIndexes(Show, {
  part: samePartition({
    // @ts-expect-error objects have no order
    each: { part: 'parts' },
    rowKey: (p) => key`part_${p.name}`,
  }),
});

// The summary of the partition needs no `keyOf`; another one does.
const Floor = defineEntity({
  type: 'Floor',
  properties: { id: int32(), people: int32().default(0) },
  partitionKey: (p) => key`floor_${p.id.padded(2)}`,
  rowKey: () => key`floor`,
});
const Total = defineEntity({
  type: 'Total',
  properties: { department: string(), people: int32().default(0) },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`total`,
});
const measures = { people: () => 1 };
counter({ source: FlaggedEmployee, view: Total, measures });
// @ts-expect-error the PartitionKey of an employee has no id
counter({ source: FlaggedEmployee, view: Floor, measures });
counter({ source: FlaggedEmployee, view: Floor, keyOf: ({ id }) => ({ id }), measures });
