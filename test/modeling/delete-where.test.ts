import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  defineEntity,
  entitiesOf,
  int32,
  key,
  string,
  type TableGateway,
} from '../../src/modeling/index.js';
import {
  deleteWhere,
  type DeleteProgress,
  type DeleteScope,
} from '../../src/modeling/patterns/high-volume-delete/delete-where.js';
import { reservedRowKeys } from '../../src/modeling/definition/reserved-keys.js';
import { crashEverywhere, type Doomed } from './support/crash-points.js';
import { manualTime } from './support/manual-timers.js';
import { startTables } from './support/observed-tables.js';
import { costly } from '../support/run-length.js';

const started = await startTables();
after(() => started[Symbol.asyncDispose]());

async function fill(table: TableGateway, partitionKey: string, count: number): Promise<void> {
  for (let begin = 0; begin < count; begin += 100) {
    const writes = Array.from({ length: Math.min(100, count - begin) }, (_, index) => ({
      kind: 'insert' as const,
      row: {
        partitionKey,
        rowKey: String(begin + index).padStart(5, '0'),
        properties: { Number: { type: 'Int32' as const, value: begin + index } },
      },
    }));
    await table.transact(writes);
  }
}

async function left(table: TableGateway): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await table.page(cursor === undefined ? {} : { cursor });
    found.push(...page.rows.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`));
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

const counts = ({ found, deleted, gone, changed }: DeleteProgress) => ({
  found,
  deleted,
  gone,
  changed,
});

describe('deleting rows', () => {
  it('deletes a range of a partition a hundred at a time, reading only keys', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await fill(gateway, "it's", 260);
    await fill(gateway, 'other', 5);
    takeKinds();
    const scope: DeleteScope = {
      partitionKey: "it's",
      rowKeys: { from: '00005', before: '00255' },
    };
    const progress = await deleteWhere(gateway, scope);
    assert.deepEqual(counts(progress), { found: 250, deleted: 250, gone: 0, changed: 0 });
    assert.equal(progress.cursor, undefined);
    assert.deepEqual(takeKinds(), ['query', 'transaction', 'transaction', 'transaction']);
    assert.equal((await left(gateway)).length, 15);
  });

  it('keeps the rows of the library unless it is asked for them', async () => {
    const { gateway } = await started.newTable();
    const own = Object.values(reservedRowKeys);
    const keys = [
      ...[...own, '0001', 'zoë'].map((rowKey) => ({ partitionKey: 'a', rowKey })),
      ...['0001', '~own'].map((rowKey) => ({ partitionKey: '!outbox-0001', rowKey })),
    ];
    for (const key of keys) {
      await gateway.write({ kind: 'insert', row: { ...key, properties: {} } });
    }
    const ofPartition = await deleteWhere(gateway, { partitionKey: 'a' });
    assert.deepEqual(counts(ofPartition), { found: 2, deleted: 2, gone: 0, changed: 0 });
    const ofTable = await deleteWhere(gateway, { scan: 'table', filter: "RowKey ge ' '" });
    assert.equal(ofTable.found, 0);
    const marked = own.filter((rowKey) => rowKey.startsWith('!'));
    const rowKeys = { from: '!', before: '\u{7f}' };
    assert.equal((await deleteWhere(gateway, { partitionKey: 'a', rowKeys })).found, marked.length);
    const asked = { partitionKey: 'a', rowKeys: { from: '~', before: '\u{7f}' } };
    assert.equal((await deleteWhere(gateway, asked)).deleted, own.length - marked.length);
    assert.equal((await deleteWhere(gateway, { partitionKey: '!outbox-0001' })).deleted, 2);
    assert.deepEqual(await left(gateway), []);
  });

  it('deletes what a filter says, of one partition or of a table that is scanned by name', async () => {
    const { gateway } = await started.newTable();
    await fill(gateway, 'a', 30);
    await fill(gateway, 'b', 30);
    const filter = 'Number lt 10 or Number ge 20';
    await deleteWhere(gateway, { partitionKey: 'a', filter });
    assert.equal((await left(gateway)).length, 40);
    await deleteWhere(gateway, { scan: 'table', filter });
    const rows = await left(gateway);
    assert.equal(rows.length, 20);
    assert.deepEqual([rows[0], rows[19]], ['a/00010', 'b/00019']);
  });

  it('deletes entities by typed keys and conditions, and keeps rows of other types', async () => {
    const { gateway, takeKinds } = await started.newTable();
    const properties = { shop: string(), id: int32(), state: string().default('open') };
    const ShopOrder = defineEntity({
      type: 'Order',
      properties,
      partitionKey: (p) => key`${p.shop}`,
      rowKey: (p) => key`order_${p.id.padded(5)}`,
    });
    const orders = entitiesOf(ShopOrder, gateway);
    await fill(gateway, 'a', 3);
    for (const shop of ['a', 'b']) {
      for (const [id, state] of ['done', 'open', 'done', 'done'].entries()) {
        await orders.insert({ shop, id, state });
      }
    }
    // A row of a program without the property has its default.
    const bare = { partitionKey: 'a', rowKey: 'order_00009', properties: {} };
    await gateway.write({ kind: 'insert', row: bare });
    const partition = { shop: 'a' };
    takeKinds();
    const progress = await deleteWhere(orders, {
      partition,
      rowKeyFrom: { id: 1 },
      where: (p) => p.state.eq('done'),
    });
    assert.deepEqual(counts(progress), { found: 2, deleted: 2, gone: 0, changed: 0 });
    assert.deepEqual(takeKinds(), ['query', 'transaction']);
    await deleteWhere(orders, { partition, where: (p) => p.state.eq('open') });
    assert.deepEqual((await left(gateway)).slice(0, 4), [
      'a/00000',
      'a/00001',
      'a/00002',
      'a/order_00000',
    ]);
    await deleteWhere(orders, {
      scan: 'table',
      partitionFrom: { shop: 'b' },
      where: (p) => p.state.ne('open'),
    });
    assert.deepEqual((await left(gateway)).slice(3), ['a/order_00000', 'b/order_00001']);
  });

  it('deletes entities of older versions by what they are now', async () => {
    const { gateway } = await started.newTable();
    const keys = { partitionKey: () => key`all`, rowKey: () => key`one` };
    const Old = defineEntity({ type: 'T', properties: { cents: int32() }, ...keys });
    const New = defineEntity({ type: 'T', version: 2, properties: { euros: int32() }, ...keys });
    const current = New.upgrading(Old, ({ cents }) => ({ euros: cents / 100 }));
    const entities = entitiesOf(current, gateway);
    await entitiesOf(Old, gateway).insert({ cents: 500 });
    await deleteWhere(entities, { partition: {}, where: (p) => p.euros.gt(5) });
    assert.equal((await left(gateway)).length, 1);
    await deleteWhere(entities, { partition: {}, where: (p) => p.euros.eq(5) });
    assert.equal((await left(gateway)).length, 0);
  });

  it('puts rows of different partitions into different transactions', async () => {
    const { gateway, takeKinds } = await started.newTable();
    for (const partition of ['a', 'b', 'c']) await fill(gateway, partition, 3);
    takeKinds();
    const scope: DeleteScope = { scan: 'table', filter: "RowKey ge '00001'" };
    assert.equal((await deleteWhere(gateway, scope)).deleted, 6);
    assert.deepEqual(takeKinds(), ['query', 'transaction', 'transaction', 'transaction']);
    assert.deepEqual(await left(gateway), ['a/00000', 'b/00000', 'c/00000']);
  });

  it('only counts in a dry run', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await fill(gateway, 'a', 1200);
    takeKinds();
    const progress = await deleteWhere(gateway, { partitionKey: 'a' }, { dryRun: true });
    assert.deepEqual(counts(progress), { found: 1200, deleted: 0, gone: 0, changed: 0 });
    assert.deepEqual(takeKinds(), ['query', 'query']);
    assert.equal((await left(gateway)).length, 1200);
  });

  it('keeps rows that change after they were found, and counts those that are gone', async () => {
    const { gateway } = await started.newTable();
    await fill(gateway, 'a', 10);
    const disturbed: TableGateway = {
      table: gateway.table,
      get: (key, select) => gateway.get(key, select),
      write: (write) => gateway.write(write),
      transact: (writes) => gateway.transact(writes),
      page: async (query) => {
        const page = await gateway.page(query);
        const row = { partitionKey: 'a', rowKey: '00003', properties: {} };
        await gateway.write({ kind: 'merge', row, etag: '*' });
        const key = { partitionKey: 'a', rowKey: '00007' };
        await gateway.write({ kind: 'delete', key, etag: '*' });
        return page;
      },
    };
    const progress = await deleteWhere(disturbed, { partitionKey: 'a' });
    assert.deepEqual(counts(progress), { found: 10, deleted: 8, gone: 1, changed: 1 });
    assert.deepEqual(await left(gateway), ['a/00003']);
    const all = await deleteWhere(gateway, { partitionKey: 'a' }, { evenIfChanged: true });
    assert.equal(all.deleted, 1);
  });

  it('stops where it is told to, and goes on from its cursor', costly(), async () => {
    const { gateway } = await started.newTable();
    await fill(gateway, 'a', 2500);
    const first = await deleteWhere(gateway, { partitionKey: 'a' }, { rowsMax: 500 });
    assert.equal(first.deleted, 1000);
    assert.equal((await left(gateway)).length, 1500);
    const told: DeleteProgress[] = [];
    const abort = new AbortController();
    const second = await deleteWhere(
      gateway,
      { partitionKey: 'a' },
      {
        ...(first.cursor === undefined ? {} : { cursor: first.cursor }),
        signal: abort.signal,
        onProgress: (progress) => {
          told.push(progress);
          abort.abort();
        },
      },
    );
    assert.deepEqual(told, [second]);
    assert.equal(second.deleted, 1000);
    const last = await deleteWhere(gateway, { partitionKey: 'a' });
    assert.deepEqual([last.deleted, last.cursor], [500, undefined]);
  });

  it('deletes no faster than it is allowed to', costly(), async () => {
    const { gateway } = await started.newTable();
    await fill(gateway, 'a', 2000);
    const time = manualTime();
    let isDone = false;
    const done = deleteWhere(
      gateway,
      { partitionKey: 'a' },
      { rowsPerSecondMax: 100, clock: time.clock, timers: time },
    ).finally(() => (isDone = true));
    while (time.waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(time.waiting, [10_000]);
    assert.equal((await left(gateway)).length, 1000);
    assert.equal(isDone, false);
    await time.pass(10_000);
    assert.equal((await done).deleted, 2000);
  });

  it('may be done by several at once', costly(), async () => {
    const { gateway } = await started.newTable();
    await fill(gateway, 'a', 700);
    const all = await Promise.all(
      Array.from({ length: 4 }, () => deleteWhere(gateway, { partitionKey: 'a' })),
    );
    assert.equal(
      all.reduce((sum, { deleted }) => sum + deleted, 0),
      700,
    );
    assert.deepEqual(await left(gateway), []);
  });

  it('is finished by the next run wherever a run is cut off', costly(), async () => {
    const run = (gateway: TableGateway, doomed: Doomed) =>
      deleteWhere(doomed.wrap(gateway), { partitionKey: 'a' });
    const requests = await crashEverywhere<TableGateway>({
      prepare: async () => {
        const { gateway } = await started.newTable();
        await fill(gateway, 'a', 250);
        await fill(gateway, 'b', 1);
        return gateway;
      },
      run,
      recover: run,
      check: async (gateway) => assert.deepEqual(await left(gateway), ['b/00000']),
      crashRecovery: true,
    });
    assert.equal(requests.length, 4);
  });

  it('refuses what would empty a table by mistake', async () => {
    const { gateway, takeKinds } = await started.newTable();
    await assert.rejects(deleteWhere(gateway, { scan: 'table', filter: ' ' }), /drop the table/);
    const scope: DeleteScope = { partitionKey: 'a' };
    await assert.rejects(deleteWhere(gateway, scope, { concurrency: 0 }), /concurrency of 0/);
    await assert.rejects(deleteWhere(gateway, scope, { rowsMax: NaN }), /rowsMax of NaN/);
    assert.deepEqual(takeKinds(), []);
  });
});
