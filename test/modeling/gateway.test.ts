import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import {
  codecOf,
  defineEntity,
  int32,
  dateTime,
  key,
  openTable,
  plain,
  string,
  TransactionFailedError,
  type Row,
  type RowProperties,
  type RequestReport,
} from '../../src/modeling/index.js';
import { startServer } from '../support/start-server.js';

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
  return { gateway: openTable(client, { observer: (report) => reports.push(report) }), reports };
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

  it('writes and reads the entities of a definition', async () => {
    const { gateway } = await newTable();
    const Employee = defineEntity({
      type: 'Employee',
      properties: {
        department: string(),
        id: int32(),
        lastName: string(),
        hiredAt: dateTime().default(() => new Date(5)),
        nickName: string().optional(),
      },
      partitionKey: (p) => key`${p.department}`,
      rowKey: (p) => key`empid_${p.id.padded(6)}`,
    });
    const codec = codecOf(Employee);
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
