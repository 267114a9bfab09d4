import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import * as fc from 'fast-check';
import {
  codecOf,
  ConditionFailedError,
  defineEntity,
  EntityExistsError,
  EntityNotFoundError,
  isAmbiguous,
  ModelError,
  RequestError,
  TooLargeError,
  ValueError,
  dateTime,
  openTable,
  plain,
  string,
  TransactionFailedError,
  type Row,
  type RowProperties,
  type RequestReport,
} from '../../src/modeling/index.js';
import { odataKey } from '../../src/modeling/table/odata.js';
import { startServer } from '../support/start-server.js';
import { anyRow } from './support/wire-arbitraries.js';
import { asEmployee, numbered } from './support/employees.js';
import { costly } from '../support/run-length.js';

const started = await startServer();
after(() => started[Symbol.asyncDispose]());
let tables = 0;

async function newTable() {
  tables += 1;
  const client = TableClient.fromConnectionString(
    started.server.connectionString(),
    `t${tables}a`,
    {
      allowInsecureConnection: true,
      retryOptions: { maxRetries: 0 },
    },
  );
  await client.createTable();
  const reports: RequestReport[] = [];
  return {
    client,
    gateway: openTable(client, { observer: (report) => reports.push(report) }),
    reports,
  };
}

const everyType: RowProperties = {
  text: { type: 'String', value: 'a{"b":3.0}' },
  whole: { type: 'Double', value: 3 },
  minusZero: { type: 'Double', value: -0 },
  huge: { type: 'Double', value: 1e21 },
  beyond: { type: 'Double', value: 3_000_000_000 },
  notANumber: { type: 'Double', value: NaN },
  infinite: { type: 'Double', value: -Infinity },
  integer: { type: 'Int32', value: -5 },
  long: { type: 'Int64', value: -(2n ** 63n) },
  flag: { type: 'Boolean', value: false },
  id: { type: 'Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
  bytes: { type: 'Binary', value: new Uint8Array([0, 255, 1]) },
  moment: { type: 'DateTime', value: 638_000_000_000_000_001n },
};

describe('a gateway', () => {
  it('keeps every type exactly, by point read and by query', async () => {
    const { gateway } = await newTable();
    const row: Row = { partitionKey: 'p', rowKey: "it's", properties: everyType };
    const { etag } = await gateway.write({ kind: 'insert', row });
    const read = await gateway.get(row);
    assert.deepEqual(read?.properties, everyType);
    assert.equal(read.etag, etag);
    assert.ok(read.timestamp > 0n);
    const page = await gateway.page({ filter: "PartitionKey eq 'p'" });
    assert.deepEqual(page.rows[0], read);
    const selected = await gateway.page({ select: ['whole'] });
    assert.deepEqual(selected.rows, [
      { ...read, timestamp: 0n, properties: { whole: everyType['whole'] } },
    ]);
  });

  it('deletes under a condition inside of a transaction', async () => {
    const { gateway, reports } = await newTable();
    const one = { partitionKey: 'p', rowKey: '1', properties: {} };
    const two = { partitionKey: 'p', rowKey: '2', properties: {} };
    const first = await gateway.write({ kind: 'insert', row: one });
    await gateway.write({ kind: 'insert', row: two });
    const second = await gateway.write({ kind: 'upsert-replace', row: two });
    await assert.rejects(
      gateway.transact([
        { kind: 'insert', row: { ...one, rowKey: '3' } },
        { kind: 'delete', key: one, etag: first.etag ?? '' },
        { kind: 'delete', key: two, etag: first.etag ?? '' },
      ]),
      (error: unknown) => {
        assert.ok(error instanceof TransactionFailedError);
        assert.deepEqual([error.index, error.status], [2, 412]);
        return true;
      },
    );
    await gateway.transact([
      { kind: 'insert', row: { ...one, rowKey: '3' } },
      { kind: 'delete', key: one, etag: first.etag ?? '' },
      { kind: 'delete', key: two, etag: second.etag ?? '' },
    ]);
    const { rows } = await gateway.page({});
    assert.deepEqual(
      rows.map(({ rowKey }) => rowKey),
      ['3'],
    );
    assert.deepEqual(
      reports.map(({ kind, status }) => `${kind} ${status}`),
      ['insert 204', 'insert 204', 'update 204', 'transaction 412', 'transaction 202', 'query 200'],
    );
  });

  it('keeps rows of every type as they are, whatever is in them', costly(), async () => {
    const { gateway } = await newTable();
    await fc.assert(
      fc.asyncProperty(anyRow, async (row) => {
        await gateway.write({ kind: 'upsert-replace', row });
        const read = await gateway.get(row);
        assert.deepEqual(read?.properties, row.properties);
        const filter = odataKey(row);
        const { rows } = await gateway.page({ filter });
        assert.deepEqual(rows, [read]);
        await gateway.transact([{ kind: 'replace', row, etag: read.etag }]);
        assert.deepEqual((await gateway.get(row))?.properties, row.properties);
      }),
      { numRuns: 30 },
    );
  });

  it('pages through a table, with the keys whatever is selected', async () => {
    const { gateway, reports } = await newTable();
    const writes = Array.from({ length: 25 }, (_unused, index) => ({
      kind: 'insert' as const,
      row: {
        partitionKey: 'ü/'.replace('/', "'"),
        rowKey: index === 0 ? '' : String(index).padStart(2, '0'),
        properties: { n: { type: 'Int32' as const, value: index } },
      },
    }));
    await gateway.transact(writes);
    const found: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = await gateway.page({
        limit: 10,
        select: ['other'],
        ...(cursor === undefined ? {} : { cursor }),
      });
      found.push(...page.rows.map(({ rowKey, properties }) => [rowKey, properties]));
      ({ cursor } = page);
    } while (cursor !== undefined);
    assert.deepEqual(
      found,
      writes.map(({ row }) => [row.rowKey, {}]),
    );
    assert.deepEqual(
      reports.slice(1).map(({ kind, entities }) => [kind, entities]),
      [
        ['query', 10],
        ['query', 10],
        ['query', 5],
      ],
    );
  });

  it('goes on from a token without a RowKey', async () => {
    const { gateway } = await newTable();
    for (const partitionKey of ['a', 'b']) {
      await gateway.write({
        kind: 'insert',
        row: { partitionKey, rowKey: 'r', properties: {} },
      });
    }
    const { cursor } = await gateway.page({ limit: 1 });
    assert.ok(cursor !== undefined);
    const token = JSON.parse(Buffer.from(cursor, 'base64').toString()) as Record<string, string>;
    assert.ok(token['nextPartitionKey'] !== undefined);
    const bare = Buffer.from(JSON.stringify({ nextPartitionKey: token['nextPartitionKey'] }));
    const { rows } = await gateway.page({ cursor: bare.toString('base64') });
    assert.deepEqual(
      rows.map(({ partitionKey }) => partitionKey),
      ['b'],
    );
  });

  it('tells the observer of every request, those that fail included', async () => {
    const { gateway, reports } = await newTable();
    const row: Row = { partitionKey: 'p', rowKey: 'r', properties: {} };
    assert.equal(await gateway.get(row), undefined);
    await gateway.write({ kind: 'insert', row });
    await assert.rejects(gateway.write({ kind: 'insert', row }), EntityExistsError);
    await assert.rejects(
      gateway.write({ kind: 'merge', row, etag: 'W/"x"' }),
      ConditionFailedError,
    );
    await assert.rejects(gateway.page({ filter: 'not a filter' }), RequestError);
    await gateway.write({ kind: 'delete', key: row, etag: '*' });
    await assert.rejects(
      gateway.write({ kind: 'delete', key: row, etag: '*' }),
      EntityNotFoundError,
    );
    assert.deepEqual(
      reports.map(({ kind, status, partitionKey }) => [kind, status, partitionKey]),
      [
        ['point-read', 404, 'p'],
        ['insert', 204, 'p'],
        ['insert', 409, 'p'],
        ['update', 412, 'p'],
        ['query', 400, undefined],
        ['delete', 204, 'p'],
        ['delete', 404, 'p'],
      ],
    );
    assert.ok(reports.every(({ table, durationMs }) => table === gateway.table && durationMs >= 0));
  });

  it('refuses what cannot be written before it sends anything', async () => {
    const { gateway, reports } = await newTable();
    const row: Row = { partitionKey: 'p', rowKey: 'r', properties: {} };
    const secret: Row = { ...row, encrypt: ['Note'] };
    const named = (name: string): Row => ({
      ...row,
      properties: { [name]: { type: 'Int32', value: 1 } },
    });
    await assert.rejects(gateway.write({ kind: 'insert', row: secret }), /must be encrypted/);
    await assert.rejects(gateway.transact([{ kind: 'insert', row: secret }]), ValueError);
    for (const name of ['etag', 'timestamp', 'rowKey', 'Timestamp', 'a b', '1a']) {
      await assert.rejects(gateway.write({ kind: 'insert', row: named(name) }), ValueError, name);
    }
    await assert.rejects(gateway.transact([]), ValueError);
    const other = { ...row, partitionKey: 'q' };
    const writes = [row, other].map((each) => ({ kind: 'insert' as const, row: each }));
    await assert.rejects(gateway.transact(writes), /one partition/);
    assert.deepEqual(reports, []);
  });

  it('takes no empty ETag for a condition', async () => {
    const { gateway, reports } = await newTable();
    const row = { partitionKey: 'p', rowKey: 'r', properties: {} };
    const writes = [
      { kind: 'replace', row, etag: '' },
      { kind: 'merge', row, etag: '' },
      { kind: 'delete', key: row, etag: '' },
    ] as const;
    for (const write of writes) {
      await assert.rejects(gateway.write(write), ValueError);
      await assert.rejects(gateway.transact([write]), ValueError);
    }
    assert.deepEqual(reports, []);
  });

  it('tells what is too large, and that nothing was applied', async () => {
    const { gateway } = await newTable();
    const value = 'x'.repeat(40_000);
    const row: Row = {
      partitionKey: 'p',
      rowKey: 'r',
      properties: { text: { type: 'String', value } },
    };
    await assert.rejects(gateway.write({ kind: 'insert', row }), TooLargeError);
    await assert.rejects(gateway.transact([{ kind: 'insert', row }]), (error: unknown) => {
      assert.ok(error instanceof TransactionFailedError);
      assert.ok(error.reason instanceof TooLargeError);
      return true;
    });
  });

  it('takes no answer for a success that it cannot read', async () => {
    const { gateway, client } = await newTable();
    client.pipeline.addPolicy({
      name: 'garble',
      sendRequest: async (request, next) => {
        const response = await next(request);
        const garbled = (response.bodyAsText ?? '').replaceAll('changesetresponse', 'gibberish');
        return { ...response, bodyAsText: garbled };
      },
    });
    const row: Row = { partitionKey: 'p', rowKey: 'r', properties: {} };
    await assert.rejects(gateway.transact([{ kind: 'insert', row }]), (error: unknown) => {
      assert.ok(isAmbiguous(error), 'it may have been applied');
      return true;
    });
  });

  it('takes a failure of the program for none of the service', async () => {
    const { gateway } = await newTable();
    const row: Row = { partitionKey: 'p', rowKey: '\ud800', properties: {} };
    await assert.rejects(gateway.get(row), (error: unknown) => {
      assert.ok(error instanceof ModelError && !(error instanceof RequestError));
      assert.ok(error.cause instanceof URIError);
      return true;
    });
  });

  it('writes and reads the entities of a definition', async () => {
    const { gateway } = await newTable();
    const HiredEmployee = defineEntity({
      ...asEmployee,
      properties: {
        ...numbered,
        lastName: string(),
        hiredAt: dateTime().default(() => new Date(5)),
        nickName: string().optional(),
      },
    });
    const codec = codecOf(HiredEmployee);
    const row = codec.toRow({ department: 'Sales', id: 223, lastName: 'Jones' });
    assert.equal(row.rowKey, 'empid_000223');
    await gateway.write({ kind: 'insert', row });
    const stored = await gateway.get(codec.key({ department: 'Sales', id: 223 }));
    assert.ok(stored !== undefined);
    const employee = codec.fromRow(stored);
    assert.deepEqual(plain(employee), {
      department: 'Sales',
      id: 223,
      lastName: 'Jones',
      hiredAt: new Date(5),
    });
    assert.deepEqual(codec.rowKeyRange({}), { from: 'empid_', before: 'empid`' });
    assert.deepEqual(codec.toRow({ ...employee, lastName: 'Smith' }).properties['lastName'], {
      type: 'String',
      value: 'Smith',
    });
  });
});
