import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock, type ManualClock } from '../../src/base/clock.js';
import {
  boolean,
  defineEntity,
  entitiesOf,
  Instant,
  key,
  openTable,
  string,
  type Entities,
  type RequestReport,
  type Row,
} from '../../src/modeling/index.js';
import {
  timeBucketsOf,
  type TimeBuckets,
} from '../../src/modeling/patterns/high-volume-delete/time-buckets.js';
import type { BucketSet } from '../../src/modeling/patterns/high-volume-delete/bucket-name.js';
import { openAccountTables, type AccountTables } from '../../src/modeling/table/account-tables.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());
let sets = 0;

const Attempt = defineEntity({
  type: 'Attempt',
  properties: { user: string(), id: string(), ok: boolean() },
  partitionKey: (p) => key`${p.user}`,
  rowKey: (p) => key`${p.id}`,
});

/** A clock at 2014-07-31T18:25:00Z, the time of the guide's example. */
const clockOfTheGuide = () => manualClock(Date.UTC(2014, 6, 31, 18, 25) * 1000);
const passDays = (clock: ManualClock, days: number) => clock.advanceMicros(days * 86_400_000_000);

interface World {
  readonly set: BucketSet;
  readonly clock: ManualClock;
  readonly buckets: TimeBuckets;
  readonly tables: AccountTables;
  readonly takeRequests: () => readonly string[];
}

/** Ends with a letter, so that no set's tables match the prefix of another. */
const nextPrefix = () => `Login${(sets += 1)}x`;

function newWorld(changes: Partial<BucketSet> = {}): World {
  const set: BucketSet = {
    prefix: nextPrefix(),
    period: 'day',
    retention: { days: 60 },
    ...changes,
  };
  const clock = clockOfTheGuide();
  const reports: RequestReport[] = [];
  const observer = (report: RequestReport) => reports.push(report);
  const tables = openAccountTables(started.service, { observer });
  const open = (name: string) => openTable(started.clientOf(name), { observer });
  return {
    set,
    clock,
    tables,
    buckets: timeBucketsOf({ set, tables, open, clock }),
    takeRequests: () =>
      reports.splice(0).map(({ kind, table }) => `${kind} ${table.replace(set.prefix, '')}`),
  };
}

function attempt(partitionKey: string, rowKey: string): Row {
  return { partitionKey, rowKey, properties: { ok: { type: 'Boolean', value: false } } };
}

async function insert({ buckets }: World, day: string, rowKey = '1'): Promise<void> {
  const table = buckets.at(Instant.parse(day));
  await table.write({ kind: 'insert', row: attempt('user', rowKey) });
}

const days = async ({ buckets, set }: World) =>
  (await buckets.list()).map(({ name }) => name.replace(set.prefix, ''));

const whole = {
  from: Instant.parse('2014-01-01'),
  to: Instant.parse('2015-01-01'),
};

describe('tables by time', () => {
  it('take a row by its time, and are made by the first row when nothing made them', async () => {
    const world = newWorld();
    await insert(world, '2014-07-30T23:59:59.9999999Z');
    assert.deepEqual(world.takeRequests(), [
      'insert 20140730',
      'create-table 20140730',
      'insert 20140730',
    ]);
    await insert(world, '2014-07-30T00:00:00Z', '2');
    assert.deepEqual(world.takeRequests(), ['insert 20140730']);
    const table = world.buckets.at(Instant.parse('2014-07-30T12:00:00Z'));
    assert.ok(await table.get({ partitionKey: 'user', rowKey: '2' }));
  });

  it('hold transactions, and make their table as well', async () => {
    const world = newWorld();
    const table = world.buckets.at(Instant.parse('2014-07-31'));
    await table.transact([
      { kind: 'insert', row: attempt('user', '1') },
      { kind: 'upsert-merge', row: attempt('user', '2') },
    ]);
    assert.deepEqual(world.takeRequests(), [
      'transaction 20140731',
      'create-table 20140731',
      'transaction 20140731',
    ]);
  });

  it('are made ahead of time, so that no row waits', async () => {
    const world = newWorld();
    const ensured = await world.buckets.ensure({ ahead: 2 });
    assert.equal(ensured.length, 3);
    assert.deepEqual(await days(world), ['20140731', '20140801', '20140802']);
    world.takeRequests();
    await insert(world, '2014-08-02T08:00:00Z');
    assert.deepEqual(world.takeRequests(), ['insert 20140802']);
  });

  it('answer reads of a time that has no table with nothing, and make none for them', async () => {
    const world = newWorld();
    const table = world.buckets.at(Instant.parse('2014-07-31'));
    assert.equal(await table.get({ partitionKey: 'user', rowKey: '1' }), undefined);
    assert.deepEqual(await table.page({}), { rows: [] });
    const row = attempt('user', '1');
    await assert.rejects(table.write({ kind: 'replace', row, etag: '*' }), {
      name: 'TableNotFoundError',
    });
    assert.deepEqual(await days(world), []);
  });

  it('are not made for a time that the retention does not keep', async () => {
    const world = newWorld();
    await assert.rejects(insert(world, '2014-05-31T10:00:00Z'), /no table is made for a time/);
    await insert(world, '2014-06-02T10:00:00Z');
    assert.deepEqual(await days(world), ['20140602']);
  });

  it('refuse a function that opens another table', () => {
    const { set, tables } = newWorld();
    const buckets = timeBucketsOf({
      set,
      tables,
      open: () => openTable(started.clientOf('Another')),
    });
    assert.throws(() => buckets.at(whole.from), /opened 'Another' for/);
  });
});

describe('rotation', () => {
  it('drops what is older than 60 days, one request a table, and makes the next tables', async () => {
    const world = newWorld();
    for (const day of ['2014-06-02', '2014-06-03', '2014-07-31']) await insert(world, day);
    passDays(world.clock, 3);
    world.takeRequests();
    const { dropped, remaining, ensured } = await world.buckets.rotate();
    assert.deepEqual(
      [dropped, remaining, ensured]
        .flat()
        .map((name) => String(name).replace(world.set.prefix, '')),
      ['20140602', '20140603', '0', '20140803', '20140804'],
    );
    assert.deepEqual(world.takeRequests(), [
      'create-table 20140803',
      'create-table 20140804',
      'list-tables Tables',
      'delete-table 20140602',
      'delete-table 20140603',
    ]);
    assert.deepEqual(await days(world), ['20140731', '20140803', '20140804']);
  });

  it('drops nothing that is young by the clock of the service, however wrong that of the machine', async () => {
    const { set, tables } = newWorld();
    const open = (name: string) => openTable(started.clientOf(name));
    const now = timeBucketsOf({ set, tables, open });
    const [current = ''] = await now.ensure({ ahead: 0 });
    const clock = manualClock(Date.UTC(2999, 0, 1) * 1000);
    const { dropped } = await timeBucketsOf({ set, tables, open, clock }).rotate();
    assert.deepEqual(dropped, []);
    assert.equal((await now.list())[0]?.name, current);
  });

  it('drops no more at once than it is allowed to, the oldest first', async () => {
    const world = newWorld();
    for (let day = 10; day < 20; day++) await insert(world, `2014-06-${day}`);
    passDays(world.clock, 100);
    assert.deepEqual((await world.buckets.rotate({ dropsMax: 3 })).remaining, 7);
    assert.equal((await days(world))[0], '20140613');
    const last = await world.buckets.rotate({ dropsMax: 7 });
    assert.equal(last.remaining, 0);
  });

  it('leaves tables of others alone', async () => {
    const world = newWorld();
    const others = [`${world.set.prefix}es20140101`, `${world.set.prefix}201401`];
    for (const name of others) await started.service.createTable(name);
    passDays(world.clock, 1000);
    assert.deepEqual((await world.buckets.rotate()).dropped, []);
    for (const name of others) {
      const client = started.clientOf(name);
      await client.createEntity({ partitionKey: 'a', rowKey: 'b' });
    }
  });

  it('keeps everything when no retention is set', async () => {
    const { prefix, clock, ...world } = { ...newWorld(), prefix: nextPrefix() };
    const set: BucketSet = { prefix, period: 'day' };
    const open = (name: string) => openTable(started.clientOf(name));
    const buckets = timeBucketsOf({ set, tables: world.tables, open, clock });
    await buckets.ensure();
    passDays(clock, 10_000);
    assert.deepEqual((await buckets.rotate({ ahead: 0 })).dropped, []);
    assert.equal((await buckets.list()).length, 3);
  });

  it('says so when a table that it needs is still being deleted', async () => {
    const { set, clock } = newWorld();
    const tables: AccountTables = {
      create: () => Promise.resolve('being-deleted'),
      drop: () => Promise.resolve(),
      names: () => Promise.resolve({ names: [] }),
    };
    const open = (name: string) => openTable(started.clientOf(name));
    const buckets = timeBucketsOf({ set, tables, open, clock });
    await assert.rejects(buckets.ensure(), /still being deleted; try again/);
  });

  it('is done by the next run wherever a run is cut off', costly(), async () => {
    const rotate = ({ set, tables, clock }: World, doomed: Doomed) =>
      timeBucketsOf({
        set,
        tables: doomed.wrap(tables),
        open: (name) => doomed.wrap(openTable(started.clientOf(name))),
        clock,
      }).rotate();
    const requests = await crashEverywhere<World>({
      prepare: async () => {
        const world = newWorld();
        for (const day of ['2014-06-20', '2014-06-21', '2014-07-31']) await insert(world, day);
        passDays(world.clock, 30);
        return world;
      },
      run: rotate,
      recover: rotate,
      check: async (world) => {
        assert.deepEqual(await days(world), ['20140731', '20140830', '20140831']);
        assert.equal((await collect(world.buckets.rows(whole))).length, 1);
      },
      crashRecovery: true,
    });
    assert.deepEqual(requests, ['create', 'create', 'names', 'drop', 'drop']);
  });

  it('may be done by several processes at once', async () => {
    const world = newWorld();
    for (let day = 10; day < 20; day++) await insert(world, `2014-06-${day}`);
    passDays(world.clock, 100);
    const rotations = await Promise.all(Array.from({ length: 4 }, () => world.buckets.rotate()));
    assert.ok(rotations.every(({ remaining }) => remaining === 0));
    assert.equal((await days(world)).length, 2);
  });
});

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('queries over buckets', () => {
  async function filled(): Promise<World> {
    const world = newWorld();
    for (const day of ['2014-07-29', '2014-07-30', '2014-07-31']) {
      for (const hour of ['b', 'a', 'c']) await insert(world, day, `${day.slice(-2)}${hour}`);
    }
    world.takeRequests();
    return world;
  }
  const keys = (rows: readonly { readonly rowKey: string }[]) =>
    rows.map(({ rowKey }) => rowKey).join(' ');

  it('read the tables that exist, bucket after bucket', async () => {
    const world = await filled();
    assert.equal(
      keys(await collect(world.buckets.rows(whole))),
      '29a 29b 29c 30a 30b 30c 31a 31b 31c',
    );
    assert.deepEqual(world.takeRequests(), [
      'list-tables Tables',
      'query 20140729',
      'query 20140730',
      'query 20140731',
    ]);
  });

  it('read the buckets that the time touches, the newest first when asked to', async () => {
    const { buckets } = await filled();
    const time = { from: Instant.parse('2014-07-30T10:00:00Z'), to: Instant.parse('2014-07-31') };
    assert.equal(keys(await collect(buckets.rows(time))), '30a 30b 30c');
    const newest = await collect(buckets.rows({ ...whole, newestFirst: true }));
    assert.equal(keys(newest), '31a 31b 31c 30a 30b 30c 29a 29b 29c');
  });

  it('go on from a cursor, whatever the page size, and end', costly(), async () => {
    const { buckets } = await filled();
    for (const newestFirst of [false, true]) {
      const expected = keys(await collect(buckets.rows({ ...whole, newestFirst })));
      for (let limit = 1; limit <= 4; limit++) {
        const found: { readonly rowKey: string }[] = [];
        let cursor: string | undefined;
        let pages = 0;
        do {
          const options = cursor === undefined ? {} : { cursor };
          const page = await buckets.page({ ...whole, newestFirst, limit, ...options });
          found.push(...page.rows);
          ({ cursor } = page);
          pages += 1;
          assert.ok(pages < 20, 'the query does not end');
        } while (cursor !== undefined);
        assert.equal(keys(found), expected);
      }
    }
  });

  it('read entities by typed keys and conditions, and list the tables once', async () => {
    const world = await filled();
    const user = { user: 'user' };
    for (const day of ['2014-07-29', '2014-07-31']) {
      const attempts = entitiesOf(Attempt, world.buckets.at(Instant.parse(day)));
      await attempts.insert({ ...user, id: `${day.slice(-2)}ok`, ok: true });
    }
    world.takeRequests();
    const entities = world.buckets.entities(Attempt, { ...whole, newestFirst: true });
    const query = entities.query({ partition: user, where: (p) => p.ok.eq(true) });
    const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id);
    assert.deepEqual(ids(await query.toArray({ max: 20 })), ['31ok', '29ok']);
    assert.deepEqual(world.takeRequests(), [
      'list-tables Tables',
      'query 20140731',
      'query 20140730',
      'query 20140729',
    ]);
    const refused = entities.scanTable({ where: (p) => p.ok.eq(false) });
    assert.deepEqual(ids(await refused.first(4)), ['31a', '31b', '31c', '30a']);
    assert.equal((await entities.get({ ...user, id: '29ok' }))?.ok, true);
    assert.equal(await entities.get({ ...user, id: 'none' }), undefined);
    const written = entities as Entities<typeof Attempt>;
    const more = written.insert({ ...user, id: 'x', ok: true });
    await assert.rejects(more, /write through at\(time\)/);
  });

  it('go on with the older tables when the one of the cursor was dropped', async () => {
    const world = await filled();
    const newest = { ...whole, newestFirst: true };
    const first = await world.buckets.page({ ...newest, limit: 4 });
    const second = await world.buckets.page({ ...newest, limit: 1, cursor: first.cursor ?? '' });
    assert.equal(keys(second.rows), '30a');
    for (const day of ['30', '31']) await world.tables.drop(`${world.set.prefix}201407${day}`);
    const third = await world.buckets.page({ ...newest, cursor: second.cursor ?? '' });
    assert.equal(keys(third.rows), '29a 29b 29c');
  });

  it('go on behind a table that was dropped meanwhile', async () => {
    const world = await filled();
    const first = await world.buckets.page({ ...whole, limit: 3 });
    const second = await world.buckets.page({ ...whole, limit: 2, cursor: first.cursor ?? '' });
    assert.equal(keys(second.rows), '30a 30b');
    await world.tables.drop(`${world.set.prefix}20140730`);
    const third = await world.buckets.page({ ...whole, limit: 2, cursor: second.cursor ?? '' });
    assert.equal(keys(third.rows), '31a 31b');
  });

  it('filter and select within each bucket', async () => {
    const { buckets } = await filled();
    const query = { ...whole, filter: "RowKey ge '29b' and RowKey lt '31b'", select: [] };
    const rows = await collect(buckets.rows(query));
    assert.equal(keys(rows), '29b 29c 30a 30b 30c 31a');
    assert.deepEqual(rows[0]?.properties, {});
  });

  it('refuse a cursor that is none', async () => {
    const { buckets } = newWorld();
    for (const cursor of ['', 'x', 'W10', Buffer.from('[1]').toString('base64url')]) {
      await assert.rejects(buckets.page({ ...whole, cursor }), /is no cursor/);
    }
  });
});
