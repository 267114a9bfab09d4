import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  changesetBody,
  changesetError,
  insertOperation,
  sendBatch,
  sendChangeset,
} from '../kit/batch.js';
import { acceptFull, acceptNone, entityPath, WireClient } from '../kit/client.js';
import { assertJsonError, messages } from '../kit/errors.js';
import { startFixture } from '../kit/server.js';

// What users of Azurite have reported, one test each.

const { client } = await startFixture();
const keys = { PartitionKey: 'p', RowKey: 'r' };

async function valueOf(table: string, members: string): Promise<string> {
  const PartitionKey = 'value';
  const RowKey = String(Math.abs(members.length));
  await client.put(table, `{"PartitionKey":"${PartitionKey}","RowKey":"${RowKey}",${members}}`);
  const read = await client.get(table, PartitionKey, RowKey, { Accept: acceptFull });
  return /"Timestamp":"[^"]+",(.*)\}$/s.exec(read.text)?.[1] ?? '';
}

describe('what users reported', () => {
  it('a changeset over two partitions fails as a whole', async () => {
    const table = await client.newTable();
    const response = await sendChangeset(client, [
      insertOperation(table, { PartitionKey: 'p1', RowKey: 'r' }),
      insertOperation(table, { PartitionKey: 'p2', RowKey: 'r' }),
    ]);
    const { status, code } = changesetError(response);
    assert.deepEqual([status, code], [400, 'CommandsInBatchActOnDifferentPartitions']);
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('a query beside a write in a changeset is 400 InvalidInput', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    const body = changesetBody(client.base, [
      { method: 'GET', path: entityPath(table, 'p', 'r') },
      insertOperation(table, { PartitionKey: 'p', RowKey: 'new' }),
    ]);
    const { status, code } = changesetError(await sendBatch(client, body));
    assert.deepEqual([status, code], [400, 'InvalidInput']);
    assert.deepEqual(await client.rowKeys(table), ['r']);
  });

  it('1.0 and 1e0 without annotation stay Doubles', async () => {
    const table = await client.newTable();
    assert.equal(await valueOf(table, '"V":1.0,"W":1e0'), '"V":1.0,"W":1.0');
    assert.deepEqual(await client.rowKeys(table, 'V eq 1.0 and W eq 1D'), ['15']);
  });

  it('an Edm.Int64 beyond 2^63 - 1 is 400 InvalidInput', async () => {
    const table = await client.newTable();
    const value = { 'V@odata.type': 'Edm.Int64', V: '18446744073709551615' };
    assertJsonError(await client.insert(table, { ...keys, ...value }), {
      status: 400,
      code: 'InvalidInput',
      message: messages.bodyNotParseable,
    });
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('a query URL of 20 KB with 400 comparisons is served', async () => {
    const table = await client.newTable();
    await client.put(table, keys, {
      PartitionKey: 'p',
      RowKey: 'a-rather-long-key-of-a-row-00399',
    });
    const comparison = (index: number) =>
      `RowKey eq 'a-rather-long-key-of-a-row-${String(index).padStart(5, '0')}'`;
    const filter = Array.from({ length: 400 }, (_, index) => comparison(index)).join(' or ');
    assert.ok(encodeURIComponent(filter).length > 20_000);
    assert.deepEqual(await client.rowKeys(table, filter), ['a-rather-long-key-of-a-row-00399']);
  });

  it('the same row key twice in a changeset has the exact message', async () => {
    const table = await client.newTable();
    const operations = [insertOperation(table, keys), insertOperation(table, keys)];
    assert.deepEqual(changesetError(await sendChangeset(client, operations)), {
      status: 400,
      code: 'InvalidDuplicateRow',
      message: `1:${messages.duplicateRow}`,
    });
  });

  it('dates are compared to 100 ns', async () => {
    const table = await client.newTable();
    const DT = '2024-01-01T00:00:00.1234567Z';
    await client.put(table, { ...keys, 'DT@odata.type': 'Edm.DateTime', DT });
    const found = async (filter: string) => (await client.rowKeys(table, filter)).length;
    assert.equal(await found(`DT eq datetime'2024-01-01T00:00:00.1230000Z'`), 0);
    assert.equal(await found(`DT eq datetime'2024-01-01T00:00:00.1234567Z'`), 1);
    assert.equal(await found(`DT gt datetime'2024-01-01T00:00:00.1234566Z'`), 1);
    assert.equal(await found(`DT gt datetime'2024-01-01T00:00:00.1234567Z'`), 0);
    assert.equal(await found(`DT lt datetime'2024-01-01T00:00:00.1234568Z'`), 1);
  });

  it('an Int32 literal is promoted to an Int64 property', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, 'L@odata.type': 'Edm.Int64', L: '5' });
    for (const filter of ['L eq 5', 'L gt 4', 'L eq 5L', 'L ge 5', 'L lt 6']) {
      assert.deepEqual(await client.rowKeys(table, filter), ['r'], filter);
    }
  });

  it('a string literal equals no Int64, no date and no binary', async () => {
    const table = await client.newTable();
    await client.put(table, {
      ...keys,
      'L@odata.type': 'Edm.Int64',
      L: '5',
      'DT@odata.type': 'Edm.DateTime',
      DT: '2024-01-01T00:00:00Z',
      'B@odata.type': 'Edm.Binary',
      B: '/w==',
    });
    for (const filter of [`L eq '5'`, `DT eq '2024-01-01T00:00:00Z'`, `B eq '/w=='`]) {
      assert.deepEqual(await client.rowKeys(table, filter), [], filter);
    }
  });

  it('a selected property that is not there is null', async () => {
    const table = await client.newTable();
    await client.put(table, { ...keys, a: 1 });
    const headers = { Accept: acceptNone };
    const query = await client.query(table, { select: 'RowKey,Nope', headers });
    assert.deepEqual(query.items, [{ RowKey: 'r', Nope: null }]);
    const path = `${entityPath(table, 'p', 'r')}?$select=RowKey,Nope`;
    assert.deepEqual((await client.send({ path, headers })).json, { RowKey: 'r', Nope: null });
  });

  it('an x-ms-version of the future is served and echoed', async () => {
    const headers = { 'x-ms-version': '2027-01-01' };
    const response = await client.send({ path: '/Tables', headers });
    assert.equal(response.status, 200);
    assert.equal(response.header('x-ms-version'), '2027-01-01');
  });

  it('with one constant row key, reads cost the same at any size', async () => {
    const table = await client.newTable();
    const profile = (user: number) => ({ PartitionKey: `user${user}`, RowKey: 'profile' });
    const planOf = async (filter: string) => {
      const response = await client.query(table, { filter });
      assert.equal(response.items.length, 1);
      return response.header('x-tabularium-plan');
    };
    const plans = new Set<string | undefined>();
    let users = 0;
    for (const size of [50, 500, 2000]) {
      for (; users < size; users += 1) await client.put(table, profile(users));
      const user = size - 7;
      plans.add(await planOf(`PartitionKey eq 'user${user}' and RowKey eq 'profile'`));
      plans.add(await planOf(`PartitionKey eq 'user${user}'`));
    }
    assert.deepEqual(
      [...plans],
      [
        'class=point;intervals=1;scanned=1;returned=1',
        'class=partition-scan;intervals=1;scanned=1;returned=1',
      ],
    );
  });

  it('a table that was deleted can be created again at once', async () => {
    const table = await client.newTable();
    await client.put(table, keys);
    for (let round = 0; round < 5; round += 1) {
      const path = `/Tables('${table}')`;
      assert.equal((await client.send({ method: 'DELETE', path })).status, 204);
      const body = `{"TableName":"${table}"}`;
      assert.equal((await client.send({ method: 'POST', path: '/Tables', body })).status, 201);
      assert.deepEqual(await client.rowKeys(table), []);
      await client.put(table, keys);
    }
  });

  it('$format wins over Accept, and data service versions change nothing', async () => {
    const table = await client.newTable();
    const format = 'application%2Fjson%3Bodata%3Dnometadata';
    for (const version of ['1.0;NetFx', '3.0;NetFx', undefined]) {
      const response = await client.send({
        path: `/${table}()?$format=${format}`,
        headers: {
          Accept: acceptFull,
          DataServiceVersion: version,
          MaxDataServiceVersion: version,
        },
      });
      assert.equal(response.text, '{"value":[]}');
    }
  });
});

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
}

const program = fileURLToPath(new URL('../../../../bin/tabularium.js', import.meta.url));

async function start(location: string): Promise<Running> {
  const child = spawn(
    process.execPath,
    [program, 'start', '--location', location, '--table-port', '0'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const said: string[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the server ended: ${said.join('\n')}`)));
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        said.push(line);
        const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(line)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
    }
  });
  return { child, port };
}

async function kill({ child }: Running): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

describe('what users reported: crashes', () => {
  it('200 acknowledged writes survive kill -9', async () => {
    const location = mkdtempSync(join(tmpdir(), 'tabularium-a13-'));
    try {
      const first = await start(location);
      const before = new WireClient(first.port);
      const table = await before.newTable();
      for (let index = 0; index < 200; index += 1) {
        await before.put(table, { PartitionKey: 'p', RowKey: String(index), n: index });
      }
      await kill(first);
      before.close();
      const second = await start(location);
      const after = new WireClient(second.port);
      const { items } = await after.query(table);
      assert.equal(items.length, 200);
      assert.ok(items.every((item) => item['RowKey'] === String(item['n'])));
      await kill(second);
      after.close();
    } finally {
      rmSync(location, { recursive: true, force: true });
    }
  });
});
