import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  bulk,
  DefinitionError,
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  writesOf,
} from '../../src/modeling/index.js';
import { announcement, openModel } from '../../src/modeling/model/index.js';
import {
  changeFeed,
  changeFeedOf,
  feedSinkOf,
  payloadOf,
  RowsChangedMessage,
  type FeedEvent,
} from '../../src/modeling/patterns/change-feed/index.js';
import {
  relayOf,
  RelayBlockedError,
  tableRegistryOf,
} from '../../src/modeling/patterns/transactional-outbox/index.js';
import { defineMessage, handle, keyPayload } from '../../src/modeling/worker/index.js';
import { deleteWhere } from '../../src/modeling/patterns/high-volume-delete/index.js';
import { samePartition, withIndexes } from '../../src/modeling/patterns/indexes/index.js';
import { MemoryLists } from './support/memory-lists.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { StaffEmployee, employeeOf, openStaff, openWholeStaff } from './support/staff.js';

// Feeds, indexes, counters and copies have one outbox: each message is for one of them.

const Hired = defineMessage('hired', { payload: keyPayload(StaffEmployee) });
const hires = announcement({
  source: StaffEmployee,
  message: Hired,
  of: ({ before, after }) => (before === undefined ? after : undefined),
});
const any = { ifMatch: 'any' };

function newPlaces() {
  const [table, mails] = ['staff', 'mails'].map(
    (name) => new MemoryTable(new MemoryRows(), { table: name }),
  );
  assert.ok(table !== undefined && mails !== undefined);
  return { table, mails, names: new MemoryLists() };
}

async function driftsOf(model: { verify(): AsyncIterable<unknown> }): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const drift of model.verify()) found.push(drift);
  return found;
}

const typesOf = (events: readonly FeedEvent[]) => events.map(({ envelope }) => envelope.type);

async function changesIn(events: readonly FeedEvent[]): Promise<readonly string[]> {
  const payloads = await Promise.all(events.map((each) => payloadOf(RowsChangedMessage, each)));
  return payloads.flatMap((each) =>
    (each?.rows ?? []).map(({ rowKey, change }) => `${change} ${rowKey}`),
  );
}

const Page = defineEntity({
  type: 'Page',
  properties: { site: string(), path: string(), size: int32().default(0) },
  partitionKey: (p) => key`${p.site}`,
  rowKey: (p) => key`${p.path}`,
});

/** Pages with keys of which some eighty fit into a message. */
function longPages(count: number) {
  const numbers = Array.from({ length: count }, (_, id) => String(id).padStart(3, '0'));
  return numbers.map((number) => ({ site: 'docs', path: number + 'parts'.repeat(80) }));
}

function newPages() {
  const table = new MemoryTable(new MemoryRows(), { table: 'pages' });
  const model = openModel({ table, entities: { pages: Page }, keeps: [changeFeed()] });
  return { table, model };
}

describe('a change feed of rows with long keys', () => {
  it('lets bulk and deleteWhere divide what they write', async () => {
    const { table, model } = newPages();
    const inserts = longPages(99).map((page) => writesOf(Page).insert(page));
    const { applied, failed } = await bulk(model.table, inserts);
    assert.deepEqual({ applied, failed }, { applied: 99, failed: 0 });
    assert.equal((await deleteWhere(model.table, { partitionKey: 'docs' })).deleted, 99);
    assert.deepEqual((await model.drain()).unfinished, []);
    const changes = await changesIn((await changeFeedOf(table).read('docs')).events);
    assert.equal(changes.length, 198);
  });

  it('has a transaction as several events, in order, when its keys do not fit into one', async () => {
    const { table, model } = newPages();
    const pages = longPages(90);
    const inserting = model.transaction();
    for (const page of pages) inserting.insert(Page, page);
    await inserting.run();
    await model.drain();
    const { events } = await changeFeedOf(table).read('docs');
    assert.equal(events.length, 2);
    const numbers = (await changesIn(events)).map((change) => Number(change.slice(9, 12)));
    assert.deepEqual(numbers, [...pages.keys()]);
  });
});

describe('a change that cannot be announced', () => {
  it('is refused by itself too where its index entry has no key', async () => {
    const indexes = withIndexes(Page, {
      path: samePartition({ rowKey: (p) => key`of_${p.path}` }),
    });
    const table = new MemoryTable(new MemoryRows(), { table: 'pages' });
    const model = openModel({ table, entities: { pages: indexes } });
    // A RowKey has room for it, and none for its prefix as well.
    const paths = ['a', 'b', 'p'.repeat(511), 'c'];
    const { applied, failures } = await bulk(
      model.table,
      paths.map((path) => writesOf(Page).insert({ site: 'docs', path, size: 1 })),
    );
    assert.equal(applied, 3);
    assert.deepEqual(
      failures.map(({ index, error }) => [index, error?.name]),
      [[2, 'ValueError']],
    );
  });

  it('is refused by itself, and keeps no others of a transaction up', async () => {
    const Grown = defineMessage('grown', { payload: keyPayload(Page), version: 1 });
    const grown = announcement({
      source: Page,
      message: Grown,
      of: ({ after }) => after && { ...after, path: after.path.repeat(after.size) },
    });
    const table = new MemoryTable(new MemoryRows(), { table: 'pages' });
    const handlers = [handle(Grown, () => Promise.resolve())];
    const model = openModel({ table, entities: { pages: Page }, keeps: [grown], handlers });
    const sizes = [1, 1, 40_000, 1];
    const pages = sizes.map((size, id) => ({ site: 'docs', path: `p${id}`, size }));
    const { applied, failures } = await bulk(
      model.table,
      pages.map((page) => writesOf(Page).insert(page)),
    );
    assert.equal(applied, 3);
    assert.deepEqual(
      failures.map(({ index, error }) => [index, error?.name]),
      [[2, 'ValueError']],
    );
    const alone = model.entities.pages.insert({ site: 'docs', path: 'p9', size: 40_000 });
    await assert.rejects(alone, { name: 'ValueError' });
  });
});

describe('a change feed of a table that keeps other things', () => {
  it('has the changes, and leaves the rest to those who apply it', async () => {
    const places = newPlaces();
    const model = openWholeStaff(places);
    const { employees, departments } = model.entities;
    await departments.insert({ department: 'Sales' });
    await employees.insert(employeeOf(1));
    await employees.merge({ department: 'Sales', id: 1 }, { email: 'new@x' }, any);
    assert.deepEqual((await model.drain()).unfinished, []);
    assert.deepEqual(await driftsOf(model), []);
    const { events } = await changeFeedOf(model.table).read('Sales');
    assert.deepEqual(await changesIn(events), [
      'inserted department',
      'inserted empid_0001',
      'replaced department',
      'merged empid_0001',
    ]);
    const waiting = places.table.rows.all.filter(({ rowKey }) => rowKey.startsWith('~outbox'));
    assert.deepEqual(waiting, []);
  });

  it('takes the messages of announcements that it names, after their handlers', async () => {
    const { table } = newPlaces();
    const heard: number[] = [];
    const open = (keeps: readonly ReturnType<typeof changeFeed>[], isHandled: boolean) =>
      openModel({
        table,
        entities: { employees: StaffEmployee },
        keeps: [hires, ...keeps],
        handlers: isHandled
          ? [handle(Hired, ({ id }) => Promise.resolve(void heard.push(id)))]
          : [],
      });
    const feed = changeFeedOf(table);
    const named = changeFeed({ messages: [Hired] });
    const both = open([named], true);
    await both.entities.employees.insert(employeeOf(1));
    await both.drain();
    const first = await feed.read('Sales');
    assert.deepEqual(
      [typesOf(first.events).toSorted(), heard],
      [['hired', RowsChangedMessage.type], [1]],
    );
    const kept = open([named], false);
    await kept.entities.employees.insert(employeeOf(2));
    assert.deepEqual((await kept.drain()).unfinished, []);
    const second = await feed.read('Sales', { cursor: first.cursor });
    assert.equal(second.events.length, 2);
    const apart = open([changeFeed()], true);
    await apart.entities.employees.insert(employeeOf(3));
    await apart.drain();
    const third = await feed.read('Sales', { cursor: second.cursor });
    assert.deepEqual([typesOf(third.events), heard], [[RowsChangedMessage.type], [1, 3]]);
  });

  it('is declared once, and not beneath a model', () => {
    const { table } = newPlaces();
    const inner = openModel({ table, entities: {}, keeps: [changeFeed()] });
    assert.throws(
      () => openModel({ table, entities: {}, keeps: [changeFeed(), changeFeed()] }),
      (error) => error instanceof DefinitionError && /one change feed/.test(error.message),
    );
    assert.throws(
      () => openModel({ table: inner.table, entities: {} }),
      (error) => error instanceof DefinitionError && /changeFeed\(\)/.test(error.message),
    );
  });
});

describe('a relay that only fills a feed', () => {
  it('leaves the messages of indexes, counters and copies to those who apply them', async () => {
    for (const what of ['index elsewhere', 'counter elsewhere', 'copy elsewhere'] as const) {
      const places = newPlaces();
      const { table } = places;
      const model = openStaff(places, what);
      await model.entities.badges.insert({ department: 'Sales', id: 1 });
      await model.drain();
      await entitiesOf(StaffEmployee, model.table).insert(employeeOf(1));
      const registry = tableRegistryOf(table, 'staff', { partitionPrefix: '!outbox-' });
      const feeding = relayOf({ table, registry, sink: feedSinkOf(table) });
      const { dispatched, unfinished } = await feeding.sweep();
      assert.equal(dispatched, 0);
      assert.ok(unfinished[0]?.error instanceof RelayBlockedError);
      await model.drain();
      assert.deepEqual(await driftsOf(model), [], what);
    }
  });
});
