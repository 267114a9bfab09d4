import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  ConditionFailedError,
  DecodeError,
  defineEntity,
  EntityExistsError,
  EntityNotFoundError,
  entitiesOf,
  int32,
  key,
  string,
  TransactionFailedError,
  ValueError,
  type Property,
  type TableGateway,
} from '../../src/modeling/index.js';
import { largeString } from '../../src/modeling/patterns/large-entities/large-properties.js';
import { withLargeValues } from '../../src/modeling/patterns/large-entities/large-table.js';
import {
  defineWideEntity,
  type WideCreateOf,
} from '../../src/modeling/patterns/wide-entities/wide-definition.js';
import {
  wideEntitiesOf,
  wideEtagsOf,
} from '../../src/modeling/patterns/wide-entities/wide-entities.js';
import { listRouting, shardMapOf } from '../../src/modeling/patterns/shard-map/index.js';
import { stampedTable } from '../../src/modeling/patterns/shard-map-manager/stamped-table.js';
import { crashEverywhere } from './support/crash-points.js';
import { fillRow } from './support/full-rows.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

// The example of the guide: message counts of an employee for each of 365 days, in two rows.

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

type Day = `d${number}`;
const dayName = (day: number): Day => `d${String(day).padStart(3, '0') as `${number}`}`;

function days(
  from: number,
  to: number,
): Readonly<Record<Day, Property<'int32', number, 'optional'>>> {
  const names = Array.from({ length: to - from + 1 }, (_, index) => dayName(from + index));
  return Object.fromEntries(names.map((name) => [name, int32().optional()]));
}

const MessageCounts = defineWideEntity({
  type: 'MessageCounts',
  keys: { employee: string(), year: int32() },
  partitionKey: (p) => key`${p.employee}`,
  rowKey: (p) => key`counts_${p.year.padded(4)}`,
  groups: { '01': days(1, 183), '02': days(184, 366) },
});

const jones = { employee: 'jonesj', year: 2024 };

function fullYear(count: (day: number) => number): WideCreateOf<typeof MessageCounts> {
  const counts = Array.from({ length: 366 }, (_, index) => [dayName(index + 1), count(index + 1)]);
  return { ...jones, ...Object.fromEntries(counts) };
}

async function fixture() {
  const { gateway: table, ...observed } = await tables.newTable();
  const counts = wideEntitiesOf(MessageCounts, table);
  return { table, counts, requests: () => observed.takeKinds() };
}

async function rowKeysOf(table: TableGateway): Promise<readonly string[]> {
  return (await table.page({ select: [] })).rows.map(({ rowKey }) => rowKey);
}

/** An entity of so many groups. */
function wideOf(count: number) {
  const groups = Array.from({ length: count }, (_, index) => {
    return [String(index + 1).padStart(3, '0'), days(index + 1, index + 1)] as const;
  });
  return defineWideEntity({
    type: 'Wide',
    keys: { id: string() },
    partitionKey: (p) => key`${p.id}`,
    rowKey: () => key`w`,
    groups: Object.fromEntries(groups),
  });
}

describe('a wide entity of as many groups as a transaction has writes', () => {
  it('is refused by tables that add rows of their own, before anything is written', async () => {
    const memory = () => new MemoryTable(new MemoryRows());
    const shards = { a: memory(), b: memory() };
    const map = shardMapOf({ name: 'wide', control: memory(), shards, settleMs: 0 });
    await map.create(listRouting({}, 'a'));
    const tables = [map.table, withLargeValues(map.table), stampedTable(memory())];
    for (const [index, table] of tables.entries()) {
      const refusal = { name: 'DefinitionError', message: /Wide: 100 groups;.* writes 99 rows/ };
      await assert.rejects(wideEntitiesOf(wideOf(100), table).insert({ id: 'more' }), refusal);
      await wideEntitiesOf(wideOf(99), table).insert({ id: String(index) });
    }
    await wideEntitiesOf(wideOf(100), memory()).insert({ id: '1' });
  });

  it('is read and changed in a table that has come to take fewer', async () => {
    const table = new MemoryTable(new MemoryRows());
    await wideEntitiesOf(wideOf(100), table).insert({ id: '1' });
    const wide = wideEntitiesOf(wideOf(100), Object.assign(table, { writesMax: 99 }));
    assert.equal((await wide.get({ id: '1' }))?.['id'], '1');
    await assert.rejects(wide.insert({ id: '2' }), { name: 'DefinitionError' });
  });
});

describe('a wide entity', () => {
  it('has one key in all of its rows, also where a part of it is a default', async () => {
    let ids = 0;
    const Report = defineWideEntity({
      type: 'Report',
      keys: { team: string(), id: string().default(() => `id${(ids += 1)}`) },
      partitionKey: (p) => key`${p.team}`,
      rowKey: (p) => key`report_${p.id}`,
      groups: { '01': { head: string() }, '02': { body: string() } },
    });
    const { table } = await fixture();
    const reports = wideEntitiesOf(Report, table);
    await reports.insert({ team: 'a', head: 'one', body: 'two' });
    assert.deepEqual(await rowKeysOf(table), ['report_id1_01', 'report_id1_02']);
    assert.equal((await reports.get({ team: 'a', id: 'id1' }))?.body, 'two');
  });

  it('is one entity of several rows, written by one transaction and read by one request', async () => {
    const { table, counts, requests } = await fixture();
    const year = fullYear((day) => day * 10);
    await counts.insert(year);
    assert.deepEqual(requests(), ['transaction']);
    const read = await counts.get(jones);
    assert.deepEqual(requests(), ['query']);
    assert.deepEqual({ ...read }, { ...year, ...symbolsOf(read) });
    assert.equal(read?.['d366'], 3660);
    assert.deepEqual(await rowKeysOf(table), ['counts_2024_01', 'counts_2024_02']);
  });

  it('is changed in one row by one merge, in several by one transaction', async () => {
    const { counts, requests } = await fixture();
    await counts.insert(jones);
    requests();
    await counts.change(jones, { d001: 1, d002: 2 }, { ifMatch: 'any' });
    assert.deepEqual(requests(), ['update']);
    await counts.change(jones, { d001: 3, d184: 4 }, { ifMatch: 'any' });
    assert.deepEqual(requests(), ['transaction']);
    await counts.change(jones, {}, { ifMatch: 'any' });
    assert.deepEqual(requests(), []);
    const read = await counts.get(jones);
    assert.deepEqual(
      [read?.['d001'], read?.['d002'], read?.['d184'], read?.['d185']],
      [3, 2, 4, undefined],
    );
  });

  it('is read in part, by a point read for each group', async () => {
    const { counts, requests } = await fixture();
    await counts.insert(fullYear((day) => day));
    requests();
    const half = await counts.get(jones, { groups: ['02'] });
    assert.deepEqual(requests(), ['point-read']);
    assert.equal(half?.['d200'], 200);
    assert.equal(half && 'd001' in half, false);
    assert.deepEqual(Object.keys(wideEtagsOf(half)), ['02']);
  });

  it('is absent to a read in part that meets its deletion', async () => {
    const { table, counts } = await fixture();
    await counts.insert(jones);
    let deleted: Promise<void> | undefined;
    const meddling: TableGateway = {
      table: table.table,
      write: (write) => table.write(write),
      transact: (writes) => table.transact(writes),
      page: (query) => table.page(query),
      get: async (given, select) => {
        const row = given.rowKey.endsWith('01') ? await table.get(given, select) : undefined;
        deleted ??= counts.delete(jones, { ifMatch: 'any' });
        await deleted;
        return row ?? table.get(given, select);
      },
    };
    const reading = wideEntitiesOf(MessageCounts, meddling);
    assert.equal(await reading.get(jones, { groups: ['01', '02'] }), undefined);
  });

  it('has an ETag for each row, and a change needs those of its rows only', async () => {
    const { counts } = await fixture();
    await counts.insert(fullYear(() => 0));
    const read = await counts.get(jones);
    assert.ok(read !== undefined);
    assert.deepEqual(Object.keys(wideEtagsOf(read)), ['01', '02']);
    await counts.change(jones, { d001: 1 }, { ifMatch: 'any' });
    await counts.change(read, { d184: 2 });
    await assert.rejects(counts.change(read, { d001: 9 }), ConditionFailedError);
    await assert.rejects(counts.change(read, { d001: 9, d200: 9 }), (error: unknown) => {
      assert.ok(error instanceof TransactionFailedError);
      return error.reason instanceof ConditionFailedError;
    });
    const now = await counts.get(jones);
    assert.deepEqual([now?.['d001'], now?.['d184'], now?.['d200']], [1, 2, 0]);
    await assert.rejects(counts.change(jones, { d001: 1 }), /carries no ETag/);
  });

  it('is inserted once, and is absent as a whole', async () => {
    const { table, counts } = await fixture();
    assert.equal(await counts.get(jones), undefined);
    const change = counts.change(jones, { d001: 1 }, { ifMatch: 'any' });
    await assert.rejects(change, EntityNotFoundError);
    await assert.rejects(
      counts.update(jones, (now) => now),
      EntityNotFoundError,
    );
    await counts.insert(jones);
    await assert.rejects(counts.insert(jones), (error: unknown) => {
      assert.ok(error instanceof TransactionFailedError);
      return error.reason instanceof EntityExistsError;
    });
    await counts.delete(jones, { ifMatch: 'any' });
    assert.deepEqual(await rowKeysOf(table), []);
    await assert.rejects(counts.delete(jones, { ifMatch: 'any' }), TransactionFailedError);
  });

  it('is deleted under the ETags it was read with', async () => {
    const { counts } = await fixture();
    await counts.insert(jones);
    const read = await counts.get(jones);
    assert.ok(read !== undefined);
    await counts.change(jones, { d366: 1 }, { ifMatch: 'any' });
    await assert.rejects(counts.delete(read), TransactionFailedError);
    const again = await counts.get(jones);
    assert.ok(again !== undefined);
    await counts.delete(again);
    assert.equal(await counts.get(jones), undefined);
  });
});

function symbolsOf(value: object | undefined): object {
  const symbols = Object.getOwnPropertySymbols(value ?? {});
  return Object.fromEntries(symbols.map((symbol) => [symbol, Reflect.get(value ?? {}, symbol)]));
}

describe('a name that no group has', () => {
  it('is refused by an insert and by an update, and nothing is written', async () => {
    const { counts, requests } = await fixture();
    const misnamed = { ...fullYear(() => 1), d999: 1 };
    await assert.rejects(counts.insert(misnamed), ValueError);
    assert.deepEqual(requests(), []);
    await counts.insert(fullYear(() => 1));
    await assert.rejects(
      counts.update(jones, (year) => ({ ...year, d001: 2, d999: 1 })),
      ValueError,
    );
    assert.equal((await counts.get(jones))?.['d001'], 1);
  });
});

describe('updating a wide entity', () => {
  it('replaces the rows that differ, and nothing when none does', async () => {
    const { table, counts, requests } = await fixture();
    await counts.insert(fullYear(() => 1));
    const before = await table.page({});
    requests();
    await counts.update(jones, (now) => ({ ...now, d200: (now['d200'] ?? 0) + 1 }));
    assert.deepEqual(requests(), ['query', 'transaction']);
    const after = await table.page({});
    assert.equal(after.rows[0]?.etag, before.rows[0]?.etag);
    assert.notEqual(after.rows[1]?.etag, before.rows[1]?.etag);
    requests();
    await counts.update(jones, (now) => now);
    assert.deepEqual(requests(), ['query']);
    await counts.update(jones, (now) => ({ ...now, d001: undefined }));
    const read = await counts.get(jones);
    assert.equal(read && 'd001' in read, false, 'what is left out is removed');
  });

  it('leaves a row without room for the properties that it lacks, unless it changes', async () => {
    const { table, counts, requests } = await fixture();
    await counts.insert({ ...jones, d001: 1, d200: 2 });
    await fillRow(table, { partitionKey: 'jonesj', rowKey: 'counts_2024_02' }, 'd200');
    requests();
    await counts.update(jones, (current) => ({ ...current, d001: 5 }));
    assert.deepEqual(requests(), ['query', 'transaction']);
    const found = await counts.get(jones);
    assert.deepEqual([found?.['d001'], found?.['d200']], [5, 2]);
    const larger = counts.update(jones, (current) => ({ ...current, d001: 6, d200: 7 }));
    await assert.rejects(larger, { name: 'TooLargeError' });
    assert.equal((await counts.get(jones))?.['d001'], 5);
  });

  it('loses no count among 16 writers on the same rows', costly(), async () => {
    const { counts } = await fixture();
    await counts.insert(fullYear(() => 0));
    await Promise.all(
      Array.from({ length: 16 }, (_, writer) =>
        counts.update(jones, (now) => {
          const own = dayName(writer * 20 + 1);
          return { ...now, d100: (now['d100'] ?? 0) + 1, d300: (now['d300'] ?? 0) + 1, [own]: 7 };
        }),
      ),
    );
    const read = await counts.get(jones);
    assert.deepEqual([read?.['d100'], read?.['d300']], [16, 16]);
    const own = Array.from({ length: 16 }, (_, writer) => read?.[dayName(writer * 20 + 1)]);
    assert.deepEqual(
      own,
      Array.from({ length: 16 }, () => 7),
    );
  });

  it('adds the row of a group that the definition got later', async () => {
    const { table, counts } = await fixture();
    await counts.insert(fullYear((day) => day));
    const More = defineWideEntity({
      type: 'MessageCounts',
      keys: MessageCounts.keys,
      partitionKey: (p) => key`${p.employee}`,
      rowKey: (p) => key`counts_${p.year.padded(4)}`,
      groups: { ...MessageCounts.groups, '03': { note: string().optional() } },
    });
    const more = wideEntitiesOf(More, table);
    await assert.rejects(more.get(jones), (error: unknown) => {
      assert.ok(error instanceof DecodeError);
      return /lacks its row '03'/.test(error.message);
    });
    await more.update(jones, (now) => ({ ...now, note: 'all of it' }));
    const read = await more.get(jones);
    assert.deepEqual([read?.note, read?.['d366']], ['all of it', 366]);
  });

  it('keeps what other programs stored in the rows', async () => {
    const { table, counts } = await fixture();
    await counts.insert(jones);
    const row = {
      partitionKey: 'jonesj',
      rowKey: 'counts_2024_02',
      properties: { theirs: { type: 'Int32', value: 5 } },
    } as const;
    await table.write({ kind: 'merge', row, etag: '*' });
    await counts.update(jones, (now) => ({ ...now, d200: 1 }));
    assert.deepEqual((await table.get(row))?.properties['theirs'], row.properties.theirs);
  });
});

describe('a wide entity of several pages', () => {
  const Book = defineWideEntity({
    type: 'Book',
    keys: { title: string() },
    partitionKey: (p) => key`${p.title}`,
    rowKey: () => key`book`,
    groups: Object.fromEntries(
      Array.from({ length: 5 }, (_, index) => {
        const number = String(index + 1).padStart(2, '0');
        const parts = Array.from({ length: 15 }, (_each, part) => [
          `chapter${number}_${part}`,
          string().optional(),
        ]);
        return [number, Object.fromEntries(parts)];
      }),
    ),
  });
  const title = 'Much';
  const chapter = (group: number, text: string) =>
    Object.fromEntries(
      Array.from({ length: 15 }, (_, part) => [
        `chapter${String(group).padStart(2, '0')}_${part}`,
        text.repeat(32_000),
      ]),
    );

  /** Written row by row, because one transaction cannot take all of them. */
  async function book() {
    const { gateway: table, ...observed } = await tables.newTable();
    const books = wideEntitiesOf(Book, table);
    await books.insert({ title });
    for (let group = 1; group <= 5; group += 1) {
      await books.change({ title }, chapter(group, 'é'), { ifMatch: 'any' });
    }
    observed.takeKinds();
    return { table, books, requests: () => observed.takeKinds() };
  }

  it('is read again without values, to see that no row changed between the pages', async () => {
    const { table, books, requests } = await book();
    let pages = 0;
    let cursor: string | undefined;
    do {
      ({ cursor } = await table.page(cursor === undefined ? {} : { cursor }));
      pages += 1;
    } while (cursor !== undefined);
    assert.ok(pages > 1);
    requests();
    const read = await books.get({ title });
    assert.equal(Object.keys(read ?? {}).length, 1 + 5 * 15);
    assert.ok(requests().length > pages);
  });

  it('is never a mix of two moments', async () => {
    const { table, books } = await book();
    let pages = 0;
    const meddling: TableGateway = {
      table: table.table,
      get: (given, select) => table.get(given, select),
      write: (write) => table.write(write),
      transact: (writes) => table.transact(writes),
      page: async (query) => {
        const page = await table.page(query);
        pages += 1;
        if (pages === 1) {
          const changes = { ...chapter(1, 'ü'), ...chapter(5, 'ü') };
          await books.change({ title }, changes, { ifMatch: 'any' });
        }
        return page;
      },
    };
    const read: Readonly<Record<string, unknown>> | undefined = await wideEntitiesOf(
      Book,
      meddling,
    ).get({ title });
    const first = String(read?.['chapter01_0']).charAt(0);
    assert.equal(first, String(read?.['chapter05_0']).charAt(0));
    assert.equal(first, 'ü');
  });

  it('is refused by an insert that no transaction takes', async () => {
    const { table } = await fixture();
    const whole = Object.assign({ title }, ...[1, 2, 3, 4, 5].map((group) => chapter(group, 'é')));
    await assert.rejects(wideEntitiesOf(Book, table).insert(whole), /larger than 4 MiB/);
    assert.deepEqual(await rowKeysOf(table), []);
  });
});

describe('a process that is killed', () => {
  it('leaves a wide entity as it was or as it should be', async () => {
    const before = fullYear(() => 0);
    const requests = await crashEverywhere({
      prepare: async () => {
        const { table, counts } = await fixture();
        await counts.insert(before);
        return { table, counts };
      },
      run: async ({ table }, doomed) => {
        const counts = wideEntitiesOf(MessageCounts, doomed.wrap(table));
        await counts.change(jones, { d001: 1, d366: 1 }, { ifMatch: 'any' });
        await counts.update(jones, (now) => ({ ...now, d001: 2, d366: 2 }));
        await counts.delete(jones, { ifMatch: 'any' });
        await counts.insert(fullYear(() => 3));
      },
      recover: () => Promise.resolve(),
      check: async ({ counts, table }) => {
        const read = await counts.get(jones);
        assert.equal(read?.['d001'], read?.['d366']);
        const rows = await rowKeysOf(table);
        assert.equal(rows.length, read === undefined ? 0 : 2);
      },
    });
    assert.deepEqual(requests, ['transact', 'page', 'transact', 'transact', 'transact']);
  });
});

describe('a wide definition', () => {
  const keys = { id: string() };
  const define = (groups: Parameters<typeof defineWideEntity>[0]['groups']) =>
    defineWideEntity({
      type: 'Wide',
      keys,
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`w`,
      groups,
    });

  it('refuses groups that no entity could have', () => {
    assert.throws(() => define({}), /0 groups/);
    assert.throws(() => define({ '1': {}, '02': {} }), /the group '02' should be/);
    assert.throws(() => define({ a_: {} }), /should be letters and digits/);
    assert.throws(
      () => define({ a: { x: string() }, b: { x: int32() } }),
      /Wide.x is in group 'a'/,
    );
    assert.throws(() => define({ a: { id: string() } }), /Wide.id is in the keys/);
    const many = Object.fromEntries(
      Array.from({ length: 101 }, (_, index) => [String(index).padStart(3, '0'), {}]),
    );
    assert.throws(() => define(many), /101 groups/);
  });

  it('sorts its rows by their names, whatever order they are written in', () => {
    assert.deepEqual([...define({ '10': {}, '02': {}, '01': {} }).rows.keys()], ['01', '02', '10']);
  });

  it('lets other types live in the same partition, and finds only its own rows', async () => {
    const { table, counts } = await fixture();
    const Other = defineEntity({
      type: 'Other',
      properties: { employee: string(), id: string() },
      partitionKey: (p) => key`${p.employee}`,
      rowKey: (p) => key`${p.id}`,
    });
    const others = entitiesOf(Other, table);
    await others.insert({ employee: 'jonesj', id: 'counts_2024_01x' });
    assert.equal(await counts.get(jones), undefined);
    await counts.insert(jones);
    assert.ok((await counts.get(jones)) !== undefined);
  });

  it('has types for what it is made of', async () => {
    const { counts } = await fixture();
    const year: number | undefined = (await counts.get(jones))?.year;
    assert.equal(year, undefined);
    // @ts-expect-error -- a count is a number
    await assert.rejects(counts.change(jones, { d001: 'one' }, { ifMatch: 'any' }));
    // @ts-expect-error -- no such property
    await assert.rejects(counts.change(jones, { month: 1 }, { ifMatch: 'any' }), /no property/);
    // @ts-expect-error -- no such group
    await assert.rejects(counts.get(jones, { groups: ['03'] }), /no group '03'/);
    // @ts-expect-error -- the key needs a year
    await assert.rejects(counts.get({ employee: 'jonesj' }));
  });

  it('may hold large values, row by row', async () => {
    const { table } = await fixture();
    const Wide = defineWideEntity({
      type: 'Wide',
      keys,
      partitionKey: (p) => key`${p.id}`,
      rowKey: () => key`w`,
      groups: { '01': { a: largeString() }, '02': { b: largeString() } },
    });
    const wide = wideEntitiesOf(Wide, withLargeValues(table));
    const entity = { id: '1', a: 'a'.repeat(2_000_000), b: 'b'.repeat(100_000) };
    await wide.insert(entity);
    const read = await wide.get({ id: '1' });
    assert.deepEqual([read?.a === entity.a, read?.b === entity.b], [true, true]);
  });
});
