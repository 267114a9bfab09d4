import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { defineEntity, int32, key, string, type KeyPart } from '../../src/modeling/index.js';
import { deleteWhere } from '../../src/modeling/patterns/high-volume-delete/index.js';
import { compoundKeyOf } from '../../src/modeling/patterns/compound-key.js';
import { startTables } from './support/observed-tables.js';
import { NamedEmployee as Employee } from './support/employees.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

// The layout of the guide: an employee, and the reviews of each year.
const Review = defineEntity({
  type: 'Review',
  properties: {
    department: string(),
    id: int32(),
    year: int32(),
    managerRating: int32().named('Manager Rating'),
    peerRating: int32().named('Peer Rating'),
    comments: string().named('Comments').optional(),
  },
  partitionKey: (p) => key`${p.department}`,
  rowKey: (p) => key`empid_${p.id.padded(6)}_${p.year.padded(4)}`,
});

const department = 'Sales';
const some = await started.newTable();

async function filled() {
  const table = await started.newTable();
  const reviews = compoundKeyOf(Employee, Review, table.gateway);
  for (const id of [122, 123, 124]) {
    await reviews.parents.insert({ department, id, name: `name ${id}` });
    for (const year of [2012, 2011, 2013]) {
      await reviews.children.insert({ department, id, year, managerRating: 4, peerRating: 5 });
    }
  }
  table.takeKinds();
  return { ...table, reviews };
}

describe('a compound key', () => {
  it('is the one of the guide', async () => {
    const { gateway } = await filled();
    const row = await gateway.get({ partitionKey: 'Sales', rowKey: 'empid_000123_2012' });
    assert.equal(row?.properties['Manager_x0020_Rating']?.value, 4);
  });

  it('finds an employee with all reviews in one read, in order', async () => {
    const { reviews, takeKinds } = await filled();
    const { parent, children } = await reviews.family({ department, id: 123 });
    assert.deepEqual(takeKinds(), ['query']);
    assert.equal(parent?.name, 'name 123');
    assert.deepEqual(
      children.map(({ id, year }) => [id, year]),
      [
        [123, 2011],
        [123, 2012],
        [123, 2013],
      ],
    );
    const range = { from: 'empid_000123', before: 'empid_000124' };
    assert.deepEqual(reviews.range({ department, id: 123 }), range);
  });

  it('finds reviews whose employee is gone, and an employee without any', async () => {
    const { reviews } = await filled();
    await reviews.parents.delete({ department, id: 123 }, { ifMatch: 'any' });
    const { parent, children } = await reviews.family({ department, id: 123 });
    assert.deepEqual([parent, children.length], [undefined, 3]);
    await reviews.parents.insert({ department, id: 9, name: 'new' });
    assert.deepEqual((await reviews.family({ department, id: 9 })).children, []);
  });

  it('reads some properties of all reviews, or of those of some years', async () => {
    const { reviews, takeKinds } = await filled();
    const select = ['managerRating', 'peerRating', 'comments'] as const;
    const query = reviews.children.query({
      partition: { department },
      rowKeyFrom: { id: 123, year: 2012 },
      rowKeyTo: { id: 123 },
      select,
    });
    assert.equal(query.plan.class, 'range');
    const found = await query.toArray({ max: 10 });
    assert.deepEqual(takeKinds(), ['query']);
    assert.deepEqual(
      found.map(({ year, managerRating }) => [year, managerRating]),
      [
        [2012, 4],
        [2013, 4],
      ],
    );
  });

  it('does not find or delete the books of a longer name with those of a shorter', async () => {
    const Author = defineEntity({
      type: 'Author',
      properties: { site: string(), name: string() },
      partitionKey: (p) => key`${p.site}`,
      rowKey: (p) => key`author_${p.name}_`,
    });
    const Book = defineEntity({
      type: 'Book',
      properties: { site: string(), name: string(), title: string() },
      partitionKey: (p) => key`${p.site}`,
      rowKey: (p) => key`author_${p.name}_by_${p.title}`,
    });
    const { gateway } = await started.newTable();
    const books = compoundKeyOf(Author, Book, gateway);
    const site = 's';
    const names = ['1', '10', '11', '1_002', '1_by_x', '1 1', ''];
    const titlesOf = async (name: string) => {
      const { parent, children } = await books.family({ site, name });
      return [parent?.name, ...children.map(({ title }) => title)];
    };
    for (const name of names) {
      await books.parents.insert({ site, name });
      for (const title of ['', 'x']) await books.children.insert({ site, name, title });
    }
    for (const name of names) assert.deepEqual(await titlesOf(name), [name, '', 'x']);
    for (const [index, name] of names.entries()) {
      const rowKeys = books.range({ site, name });
      const { deleted } = await deleteWhere(gateway, { partitionKey: site, rowKeys });
      assert.equal(deleted, 3);
      assert.deepEqual(await titlesOf(name), [undefined]);
      for (const left of names.slice(index + 1)) {
        assert.deepEqual(await titlesOf(left), [left, '', 'x']);
      }
    }
  });

  it('is refused where the key of another parent or child could begin with or be a parent', () => {
    const properties = { site: string(), name: string(), number: int32() };
    const partitionKey = (p: { site: KeyPart<'site', string> }) => key`${p.site}`;
    const Open = defineEntity({
      type: 'Open',
      properties: { site: string(), name: string() },
      partitionKey,
      rowKey: (p) => key`c_${p.name}`,
    });
    const Closed = defineEntity({
      type: 'Closed',
      properties: { site: string(), name: string() },
      partitionKey,
      rowKey: (p) => key`c_${p.name}_`,
    });
    const Unordered = defineEntity({
      type: 'Unordered',
      properties: { site: string(), number: int32() },
      partitionKey,
      rowKey: (p) => key`c_${p.number.unordered()}`,
    });
    const Child = defineEntity({
      type: 'Child',
      properties,
      partitionKey,
      rowKey: (p) => key`c_${p.name}_${p.number.padded(3)}`,
    });
    const Numbered = defineEntity({
      type: 'Numbered',
      properties,
      partitionKey,
      rowKey: (p) => key`c_${p.number.unordered()}_${p.name}`,
    });
    const Empty = defineEntity({
      type: 'Empty',
      properties: { ...properties, title: string() },
      partitionKey,
      rowKey: (p) => key`c_${p.name}_${p.title}`,
    });
    const { gateway } = some;
    assert.throws(() => compoundKeyOf(Open, Child, gateway), /of any length/);
    assert.throws(() => compoundKeyOf(Unordered, Numbered, gateway), /of any length/);
    assert.throws(() => compoundKeyOf(Closed, Empty, gateway), /and go on/);
    assert.doesNotThrow(() => compoundKeyOf(Closed, Child, gateway));
  });

  it('says when there are more children than were expected', async () => {
    const { reviews } = await filled();
    const many = reviews.family({ department, id: 123 }, { childrenMax: 2 });
    await assert.rejects(many, { name: 'ModelError' });
    const { children } = await reviews.family({ department, id: 123 }, { childrenMax: 3 });
    assert.equal(children.length, 3);
  });

  it('is refused for keys of which no range has both', async () => {
    const { gateway } = await started.newTable();
    const Other = defineEntity({
      type: 'Other',
      properties: { department: string(), id: int32(), year: int32() },
      partitionKey: (p) => key`${p.department}`,
      rowKey: (p) => key`empid_${p.id.padded(5)}_${p.year.padded(4)}`,
    });
    const Elsewhere = defineEntity({
      type: 'Elsewhere',
      properties: { department: string(), id: int32(), year: int32() },
      partitionKey: (p) => key`d_${p.department}`,
      rowKey: (p) => key`empid_${p.id.padded(6)}_${p.year.padded(4)}`,
    });
    assert.throws(() => compoundKeyOf(Employee, Other, gateway), /does not begin with/);
    assert.throws(() => compoundKeyOf(Employee, Elsewhere, gateway), /other PartitionKeys/);
    assert.throws(() => compoundKeyOf(Employee, Employee, gateway), /and go on/);
  });
});
