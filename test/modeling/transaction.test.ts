import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import * as fc from 'fast-check';
import {
  bulk,
  ConditionFailedError,
  ContentionError,
  defineEntity,
  entitiesOf,
  EntityExistsError,
  EntityNotFoundError,
  int32,
  int64,
  key,
  openTable,
  string,
  TooLargeError,
  transaction,
  TransactionFailedError,
  ValueError,
  writesOf,
  type RowWrite,
  type TableGateway,
} from '../../src/modeling/index.js';
import { transactionBytes } from '../../src/modeling/table/request-size.js';
import {
  knownPartitions,
  outboxOf,
} from '../../src/modeling/patterns/transactional-outbox/index.js';
import { defineMessage } from '../../src/modeling/worker/index.js';
import { LostAnswerError } from './support/crash-points.js';
import { LostAnswers } from './support/lost-answers.js';
import { MemoryRows, MemoryTable } from './support/memory-table.js';
import { startTables } from './support/observed-tables.js';
import { anyRow } from './support/wire-arbitraries.js';
import { NamedEmployee as Employee } from './support/employees.js';

const tables = await startTables();
after(() => tables[Symbol.asyncDispose]());

const Headcount = defineEntity({
  type: 'Department',
  properties: { department: string(), employees: int32() },
  partitionKey: (p) => key`${p.department}`,
  rowKey: () => key`department`,
});

const sales = { department: 'Sales' };

async function newSales() {
  const table = await tables.newTable();
  const departments = entitiesOf(Headcount, table.gateway);
  const employees = entitiesOf(Employee, table.gateway);
  const department = await departments.insert({ ...sales, employees: 0 });
  table.takeKinds();
  return { ...table, departments, employees, department };
}

describe('a transaction', () => {
  it('applies all of its writes with one request', async () => {
    const { gateway, departments, employees, department, takeKinds } = await newSales();
    const results = await transaction(gateway)
      .insert(Employee, { ...sales, id: 1, name: 'Jones' })
      .replace(Headcount, { ...department, employees: 1 })
      .run();
    assert.deepEqual(takeKinds(), ['transaction']);
    assert.equal(results.length, 2);
    assert.ok(results.every(({ etag }) => etag !== undefined));
    assert.equal((await departments.get(sales))?.employees, 1);
    assert.equal((await employees.get({ ...sales, id: 1 }))?.name, 'Jones');
  });

  it('applies none when one is refused, and tells which', async () => {
    const { gateway, employees, departments, department } = await newSales();
    await departments.replace({ ...department, employees: 5 });
    const run = transaction(gateway)
      .insert(Employee, { ...sales, id: 1, name: 'Jones' })
      .replace(Headcount, { ...department, employees: 1 })
      .run();
    await assert.rejects(run, (error: unknown) => {
      assert.ok(error instanceof TransactionFailedError);
      assert.equal(error.index, 1);
      assert.ok(error.reason instanceof ConditionFailedError);
      assert.equal(error.cause, error.reason);
      assert.equal(error.reason.request?.rowKey, 'department');
      assert.match(error.message, /'Sales', 'department'\): 412/);
      return true;
    });
    assert.equal(await employees.get({ ...sales, id: 1 }), undefined);
    const kinds: [ReturnType<typeof transaction>, new (...args: never[]) => Error][] = [
      [transaction(gateway).insert(Headcount, { ...sales, employees: 1 }), EntityExistsError],
      [
        transaction(gateway).merge(
          Employee,
          { ...sales, id: 9 },
          { name: 'x' },
          { ifMatch: 'any' },
        ),
        EntityNotFoundError,
      ],
    ];
    for (const [doomed, kind] of kinds) {
      await assert.rejects(doomed.run(), (error: unknown) => {
        assert.ok(error instanceof TransactionFailedError);
        assert.equal(error.index, 0);
        assert.ok(error.reason instanceof kind);
        return true;
      });
    }
  });

  it('names the row at which others were faster', async () => {
    const { gateway, departments } = await newSales();
    const run = transaction(gateway, { attemptsMax: 1 })
      .insert(Employee, { ...sales, id: 1, name: 'Jones' })
      .update(Headcount, sales, async (current) => {
        await departments.merge(sales, { employees: 7 }, { ifMatch: 'any' });
        return { ...current, employees: 1 };
      })
      .run();
    await assert.rejects(run, (error: unknown) => {
      assert.ok(error instanceof ContentionError);
      assert.match(error.message, /'Sales', 'department'\): 412/);
      return true;
    });
  });

  it('can require an entity that it does not write', async () => {
    const { gateway, departments, employees, department } = await newSales();
    const hired = (id: number) =>
      transaction(gateway).insert(Employee, { ...sales, id, name: 'Jo' });
    await hired(1).require(Headcount, sales).run();
    const stored = await departments.get(sales);
    assert.deepEqual(stored, { ...department, ...stored });
    const requiring = (id: number) => hired(id).require(Headcount, sales);
    assert.throws(
      () => requiring(2).delete(Headcount, sales, { ifMatch: '*' }),
      /cannot delete 'department', which it requires/,
    );
    const deleting = hired(2).delete(Headcount, sales, { ifMatch: '*' });
    assert.throws(() => deleting.require(Headcount, sales), ValueError);
    assert.throws(() => requiring(2).require(Headcount, { department: 'Labs' }), ValueError);
    await requiring(2).increment(Headcount, sales, 'employees').run();
    assert.equal((await departments.get(sales))?.employees, 1);

    await departments.delete(sales, { ifMatch: '*' });
    await assert.rejects(
      requiring(3).run(),
      (error) =>
        error instanceof TransactionFailedError &&
        error.index === 1 &&
        error.reason instanceof EntityNotFoundError,
    );
    assert.equal(await employees.get({ ...sales, id: 3 }), undefined);
  });

  it('refuses to be split', async () => {
    const { gateway, takeKinds } = await newSales();
    const insert = (department: string, id: number, name = 'x') =>
      [Employee, { department, id, name }] as const;
    assert.throws(
      () =>
        transaction(gateway)
          .insert(...insert('Sales', 1))
          .insert(...insert('HR', 1)),
      /'HR' is another/,
    );
    assert.throws(
      () =>
        transaction(gateway)
          .insert(...insert('Sales', 1))
          .upsertReplace(...insert('Sales', 1)),
      /'empid_000001' already/,
    );
    const full = transaction(gateway);
    for (let id = 0; id < 100; id++) full.insert(...insert('Sales', id, 'y'.repeat(32_000)));
    assert.throws(() => full.insert(...insert('Sales', 100)), /at most 100/);
    await full.run();
    await assert.rejects(full.run(), /runs once/);
    await assert.rejects(transaction(gateway).run(), /at least one/);
    const tooLarge = transaction(gateway);
    for (let id = 0; id < 60; id++) {
      tooLarge.upsertReplace(...insert('Sales', id, '日'.repeat(32_000)));
    }
    takeKinds();
    await assert.rejects(tooLarge.run(), TooLargeError);
    assert.deepEqual(takeKinds(), []);
  });

  it('is recognised when its answer is lost or the client repeated it', async () => {
    for (const maxRetries of [0, 3]) {
      const { client: original, departments } = await newSales();
      const client = TableClient.fromConnectionString(tables.connection, original.tableName, {
        allowInsecureConnection: true,
        retryOptions: { maxRetries, retryDelayInMs: 1 },
      });
      const lost = new LostAnswers();
      lost.install(client);
      lost.lose(1, 'POST');
      const results = await transaction(openTable(client))
        .delete(Headcount, sales, { ifMatch: 'any' })
        .insert(Employee, { ...sales, id: 1, name: 'Jones' })
        .run();
      assert.equal(results.length, 2);
      assert.equal(await departments.get(sales), undefined);
      lost.lose(1, 'POST');
      const unstamped = transaction(openTable(client)).delete(
        Employee,
        { ...sales, id: 1 },
        { ifMatch: 'any' },
      );
      await assert.rejects(unstamped.run());
    }
  });

  it('is never larger on the wire than is counted', async () => {
    const { gateway, client } = await newSales();
    let sent = 0;
    client.pipeline.addPolicy({
      name: 'measure',
      sendRequest: (request, next) => {
        if (typeof request.body === 'string') sent = Buffer.byteLength(request.body);
        return next(request);
      },
    });
    const kinds = fc.constantFrom<'upsert-replace' | 'upsert-merge'>(
      'upsert-replace',
      'upsert-merge',
    );
    const write = fc.record({ kind: kinds, row: anyRow });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 5 }), async (drawn) => {
        const writes: RowWrite[] = drawn.map(({ kind, row }, index) => ({
          kind,
          row: { ...row, partitionKey: 'p', rowKey: `${index}${row.rowKey}`.slice(0, 100) },
        }));
        await gateway.transact(writes);
        const counted = transactionBytes(writes);
        assert.ok(sent <= counted, `${sent} bytes sent, ${counted} counted`);
        assert.ok(counted <= 3 * sent + 1000 * writes.length);
      }),
      { numRuns: 20 },
    );
  });
});

describe('an increment', () => {
  const Account = defineEntity({
    type: 'Account',
    properties: { id: string(), cents: int64().optional(), visits: int32().optional() },
    partitionKey: (p) => key`${p.id}`,
    rowKey: () => key`account`,
  });
  const ann = { id: 'ann' };

  it('adds 64-bit numbers exactly, and numbers to what is absent', async () => {
    const table = new MemoryTable(new MemoryRows());
    const accounts = entitiesOf(Account, table);
    await accounts.insert(ann);
    const add = async (by?: bigint | 1 | -1) => {
      await transaction(table).increment(Account, ann, 'cents', by).run();
      return (await accounts.get(ann))?.cents;
    };
    assert.equal(await add(), 1n);
    const odd = 2n ** 53n + 1n;
    assert.equal(await add(odd), odd + 1n);
    assert.equal(await add(-1), odd);
    assert.equal(await add(-odd), 0n);
    await transaction(table).increment(Account, ann, 'visits', 2).run();
    await transaction(table).increment(Account, ann, 'visits', -1).run();
    assert.equal((await accounts.get(ann))?.visits, 1);
  });

  it('beyond 64 bits is refused, and changes nothing', async () => {
    const table = new MemoryTable(new MemoryRows());
    const accounts = entitiesOf(Account, table);
    await accounts.insert({ ...ann, cents: 2n ** 63n - 1n });
    await assert.rejects(transaction(table).increment(Account, ann, 'cents').run(), ValueError);
    assert.equal((await accounts.get(ann))?.cents, 2n ** 63n - 1n);
  });
});

describe('a refusal of what may have been applied already', () => {
  const lost = () => new LostAnswerError('a read');

  /** The client repeats each write, and then no read has an answer. */
  function repeating(rows: MemoryRows): TableGateway {
    let isDown = false;
    const table = new MemoryTable(rows);
    const twice = async <T>(send: () => Promise<T>): Promise<T> => {
      await send();
      isDown = true;
      return send();
    };
    return {
      table: table.table,
      get: (rowKey, select) => (isDown ? Promise.reject(lost()) : table.get(rowKey, select)),
      page: (query) => table.page(query),
      write: (write) => twice(() => table.write(write)),
      transact: (writes) => twice(() => table.transact(writes)),
    };
  }

  it('is no conflict when nobody can look: a number is not added twice', async () => {
    const rows = new MemoryRows();
    const departments = entitiesOf(Headcount, new MemoryTable(rows));
    const department = await departments.insert({ ...sales, employees: 1 });
    const adding = transaction(repeating(rows)).increment(Headcount, sales, 'employees').run();
    await assert.rejects(adding, { name: 'LostAnswerError' });
    assert.equal((await departments.get(sales))?.employees, 2);
    await departments.upsertReplace(department);
    const stored = await departments.get(sales);
    assert.ok(stored !== undefined);
    const replacing = entitiesOf(Headcount, repeating(rows)).replace({ ...stored, employees: 5 });
    await assert.rejects(replacing, { name: 'LostAnswerError' });
    assert.equal((await departments.get(sales))?.employees, 5);
  });

  it('is reported by bulk as a lost answer', async () => {
    const rows = new MemoryRows();
    const insert = writesOf(Headcount).insert({ ...sales, employees: 0 });
    const { failures } = await bulk(repeating(rows), [insert]);
    assert.deepEqual(
      failures.map(({ error }) => error?.name),
      ['LostAnswerError'],
    );
    assert.equal(rows.all.length, 1);
  });

  it('is no conflict for a transaction with messages either', async () => {
    const rows = new MemoryRows();
    const table = repeating(rows);
    const outbox = outboxOf({ table, registry: knownPartitions(['Sales']) });
    const Hired = defineMessage<string, string>('hired', {
      payload: { encode: (text) => text, decode: String },
    });
    const message = await outbox.message('Sales', Hired, 'Jones');
    const insert = writesOf(Headcount).insert({ ...sales, employees: 0 });
    await assert.rejects(outbox.transact([insert], [message]), { name: 'LostAnswerError' });
    assert.equal(rows.all.length, 2);
  });
});
