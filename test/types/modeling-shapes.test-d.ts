// What must compile, and what must not. The compiler runs this file; nothing else does.
import {
  boolean,
  binary,
  dateTime,
  defineEntity,
  double,
  embedded,
  entitiesOf,
  enumeration,
  guid,
  instant,
  int32,
  int64,
  json,
  key,
  list,
  string,
  transaction,
  type CreateOf,
  type FilterFields,
  type FilterRefused,
  type Instant,
  type KeyOf,
  type MergeOf,
  type MergeRefused,
  type Entities,
  type ReadOf,
  type Stored,
  type RowKeyPrefixOf,
  type StandardSchema,
  type TableGateway,
} from '../../src/modeling/index.js';

type Equal<A, B> =
  // oxlint-disable-next-line no-unnecessary-type-parameters -- the type of a condition shows all
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles when the types are the same. */
function same<A, B>(...proof: Equal<A, B> extends true ? [] : [expected: B, found: A]): void {
  void proof;
}

declare const table: TableGateway;
declare const schema: StandardSchema<{ readonly a: number }>;

const Review = defineEntity({
  type: 'Review',
  properties: {
    department: string(),
    id: int32(),
    year: int32(),
    rating: enumeration('good', 'bad'),
    comments: string().optional(),
    weight: double().default(1),
    reviewer: string().readOnly(),
    search: string().computed({ comments: string().optional() }, ({ comments = '' }) => comments),
    at: instant(),
    on: dateTime().default(() => new Date()),
    big: int64(),
    flag: boolean(),
    guid: guid(),
    bytes: binary(),
    shape: json(schema),
    free: json<{ b: string }>(),
    tags: list<string>(),
    address: embedded({ city: string(), zip: string().optional() }),
    storedId: int32().stored(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`${p.id.padded(6)}_${p.year.padded(4)}_${p.storedId.padded(3)}`,
});
type Review = typeof Review;

const Secret = defineEntity({
  type: 'Secret',
  properties: { owner: string(), open: string(), text: string().encrypted() },
  partitionKey: (p) => key`${p.owner}`,
  rowKey: () => key`secret`,
});

same<
  ReadOf<Review>,
  {
    readonly department: string;
    readonly id: number;
    readonly year: number;
    readonly rating: 'good' | 'bad';
    readonly weight: number;
    readonly reviewer: string;
    readonly search: string;
    readonly at: Instant;
    readonly on: Date;
    readonly big: bigint;
    readonly flag: boolean;
    readonly guid: string;
    readonly bytes: Uint8Array;
    readonly shape: { readonly a: number };
    readonly free: { b: string };
    readonly tags: readonly string[];
    readonly address: { readonly city: string; readonly zip?: string | undefined };
    readonly storedId: number;
    readonly comments?: string | undefined;
  }
>();

same<
  KeyOf<Review>,
  {
    readonly department: string;
    readonly id: number;
    readonly year: number;
    readonly storedId: number;
  }
>();

type Merged = MergeOf<Review>;
same<Merged['rating'], 'good' | 'bad' | undefined>();
same<
  keyof Merged,
  | 'rating'
  | 'comments'
  | 'weight'
  | 'at'
  | 'on'
  | 'big'
  | 'flag'
  | 'guid'
  | 'bytes'
  | 'shape'
  | 'free'
  | 'tags'
  | 'address'
>();
same<
  MergeOf<typeof Secret>,
  MergeRefused<'a merge would lose the key of the encrypted properties: use update or replace'>
>();
// @ts-expect-error -- not even a merge of nothing
const mergedSecret: MergeOf<typeof Secret> = {};
// @ts-expect-error -- nor of what is not encrypted
const mergedOwner: MergeOf<typeof Secret> = { owner: 'x' };
void [mergedSecret, mergedOwner];

same<Extract<keyof CreateOf<Review>, 'search'>, never>();
same<CreateOf<Review>['weight'], number | null | undefined>();
same<CreateOf<Review>['comments'], string | null | undefined>();
same<CreateOf<Review>['rating'], 'good' | 'bad'>();

const nothing: RowKeyPrefixOf<typeof Secret> = {};
// @ts-expect-error -- the key has no parts
const something: RowKeyPrefixOf<typeof Secret> = { owner: 'x' };
void [nothing, something];
const prefixes: RowKeyPrefixOf<Review>[] = [
  {},
  { id: 1 },
  { id: 1, year: 2012 },
  { id: 1, year: 2012, storedId: 3 },
  // @ts-expect-error -- a later part without the one before it
  { year: 2012 },
  // @ts-expect-error -- a gap
  { id: 1, storedId: 3 },
  // @ts-expect-error -- a part of the other key
  { department: 'Sales' },
  // @ts-expect-error -- another type
  { id: '1' },
];
void prefixes;

const reviews = entitiesOf(Review, table);
const secrets = entitiesOf(Secret, table);
const whole = { department: 'Sales', id: 1, year: 2012, storedId: 1 };

export async function keys() {
  const review = await reviews.get(whole);
  // @ts-expect-error -- it may be absent
  void review.rating;
  // @ts-expect-error -- a part is missing
  await reviews.get({ department: 'Sales', id: 1, year: 2012 });
  // @ts-expect-error -- no part of a key
  await reviews.get({ ...whole, rating: 'good' as const, other: 1 } satisfies KeyOf<Review>);
  const some = await reviews.get(whole, { select: ['rating'] });
  void some?.rating;
  void some?.year;
  // @ts-expect-error -- it was not selected
  void some?.weight;
  // @ts-expect-error -- there is no such property
  await reviews.get(whole, { select: ['nothing'] });
}

export async function writes(review: ReadOf<Review>) {
  await reviews.replace(review);
  // @ts-expect-error -- a required property is missing
  await reviews.insert(whole);
  // @ts-expect-error -- an unknown property
  await reviews.insert({ ...review, unknown: 1 } satisfies CreateOf<Review>);
  // @ts-expect-error -- a value of another type
  await reviews.insert({ ...review, rating: 'mediocre' });
  await reviews.merge(whole, { weight: 2 }, { ifMatch: 'any' });
  // @ts-expect-error -- keys never change
  await reviews.merge(whole, { year: 2013 }, { ifMatch: 'any' });
  // @ts-expect-error -- read-only
  await reviews.merge(whole, { reviewer: 'x' }, { ifMatch: 'any' });
  // @ts-expect-error -- computed
  await reviews.merge(whole, { search: 'x' }, { ifMatch: 'any' });
  // @ts-expect-error -- a merge cannot remove
  await reviews.merge(whole, { comments: null }, { ifMatch: 'any' });
  // @ts-expect-error -- unknown
  await reviews.merge(whole, { unknown: 1 }, { ifMatch: 'any' });
  // @ts-expect-error -- encrypted entities cannot be merged
  await secrets.merge({ owner: 'x' }, { open: 'y' }, { ifMatch: 'any' });
  // @ts-expect-error -- the new entity lacks properties
  await reviews.update(whole, () => ({ ...whole }));
  await reviews.update(whole, (current) => ({ ...current, rating: 'bad' }));
  await reviews.update(whole, (current) =>
    current.flag ? { ...current, flag: false } : undefined,
  );
  await reviews.update(whole, () => Promise.resolve(review));
  // @ts-expect-error -- the new entity has an unknown property
  await reviews.update(whole, (current) => ({ ...current, wieght: 2 }));
  // @ts-expect-error -- also behind a promise
  await reviews.update(whole, async (current) => Promise.resolve({ ...current, wieght: 2 }));
  // @ts-expect-error -- an unknown property beside known ones
  await reviews.insert({ ...review, wieght: 2 });
  transaction(table)
    .insert(Review, review)
    .delete(Review, whole, { ifMatch: 'any' })
    // @ts-expect-error -- of another definition
    .insert(Secret, review);
}

export function queries() {
  const partition = { department: 'Sales' };
  reviews.query({ partition, where: (p) => p.rating.eq('good').and(p.weight.gt(1)) });
  reviews.query({ partition, where: (p) => p.address.city.startsWith('R') });
  reviews.query({ partition, where: (p) => p.storedId.eq(1) });
  // @ts-expect-error -- a partition is whole
  reviews.query({ partition: {} });
  // @ts-expect-error -- a table scan has its own name
  reviews.query({ where: (p) => p.rating.eq('good') });
  // @ts-expect-error -- compared with another type
  reviews.query({ partition, where: (p) => p.weight.eq('1') });
  // @ts-expect-error -- none of its values
  reviews.query({ partition, where: (p) => p.rating.eq('mediocre') });
  // @ts-expect-error -- only keys carry it
  reviews.query({ partition, where: (p) => p.year.eq(2012) });
  same<
    FilterFields<Review>['year'],
    FilterRefused<'only the keys carry it: bound the query by them, or declare it stored()'>
  >();
  // @ts-expect-error -- stored as JSON
  reviews.query({ partition, where: (p) => p.tags.eq('x') });
  // @ts-expect-error -- encrypted
  secrets.query({ partition: { owner: 'x' }, where: (p) => p.text.eq('y') });
  // @ts-expect-error -- numbers begin with nothing
  reviews.query({ partition, where: (p) => p.weight.startsWith('1') });
  const selected = reviews.query({ partition, select: ['weight'] });
  same<
    keyof (typeof selected extends AsyncIterable<infer T> ? T : never) & string,
    'weight' | keyof KeyOf<Review>
  >();
}

export function definitions() {
  const properties = {
    id: int32(),
    name: string(),
    maybe: string().optional(),
    secret: string().encrypted(),
    amount: double(),
  };
  const rowKey = () => key`x`;
  // @ts-expect-error -- a number in a key needs a form: padded(), offset(), …
  defineEntity({ type: 'A', properties, rowKey, partitionKey: (p) => key`${p.id}` });
  // @ts-expect-error -- an optional property cannot be in a key
  defineEntity({ type: 'A', properties, rowKey, partitionKey: (p) => key`${p.maybe}` });
  // @ts-expect-error -- an encrypted property cannot be in a key
  defineEntity({ type: 'A', properties, rowKey, partitionKey: (p) => key`${p.secret}` });
  // @ts-expect-error -- a double has no form in keys
  defineEntity({ type: 'A', properties, rowKey, partitionKey: (p) => key`${p.amount}` });
  // @ts-expect-error -- there is no such property
  defineEntity({ type: 'A', properties, rowKey, partitionKey: (p) => key`${p.nothing}` });
  // @ts-expect-error -- a default of another type
  int32().default('1');
  // @ts-expect-error -- an embedded object has no defaults
  embedded({ a: string().default('') });
  // @ts-expect-error -- computed of another type
  int32().computed({ name: string() }, ({ name }) => name);
}

export function upgrades() {
  const V1 = defineEntity({
    type: 'Person',
    properties: { name: string() },
    partitionKey: () => key`people`,
    rowKey: (p) => key`${p.name}`,
  });
  const V2 = defineEntity({
    type: 'Person',
    version: 2,
    properties: { name: string(), age: int32() },
    partitionKey: () => key`people`,
    rowKey: (p) => key`${p.name}`,
  });
  V2.upgrading(V1, ({ name }) => ({ name, age: 0 }));
  // @ts-expect-error -- the new version needs an age
  V2.upgrading(V1, ({ name }) => ({ name }));
  // @ts-expect-error -- the old version has none
  V2.upgrading(V1, ({ name, age }) => ({ name, age }));
}

// The values of keys carry no ETag, so a write of them says which one it expects.
const reviewed = entitiesOf(Review, table);
declare const read: Stored<ReadOf<Review>>;
declare const key1: KeyOf<Review>;
void reviewed.merge(read, { flag: true });
void reviewed.merge({ ...read, flag: false }, { flag: true });
void reviewed.merge(key1, { flag: true }, { ifMatch: 'any' });
// @ts-expect-error a merge of keys without ifMatch
void reviewed.merge(key1, { flag: true });
// @ts-expect-error a merge of keys with an empty condition
void reviewed.merge(key1, { flag: true }, {});
// @ts-expect-error a delete of keys without ifMatch
void reviewed.delete(key1);
void reviewed.delete(read);
transaction(table).merge(Review, key1, { flag: true }, { ifMatch: 'any' }).delete(Review, read);
// @ts-expect-error a merge of keys without ifMatch, in a transaction
transaction(table).merge(Review, key1, { flag: true });

// An interface shortens what editors show of everything that is made from a definition.
type ReviewParts = typeof Review;
interface ReviewDefinition extends ReviewParts {}
const NamedReview: ReviewDefinition = Review;
same<ReadOf<ReviewDefinition>, ReadOf<Review>>();
const named: Entities<ReviewDefinition> = entitiesOf(NamedReview, table);
void named.get(key1);
