import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { RequestRecord } from '../../../src/app/index.js';
import {
  insertOperation,
  plainBatchBody,
  sendBatch,
  sendChangeset,
  writeOperation,
} from '../kit/batch.js';
import { acceptMinimal, entityPath } from '../kit/client.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { WireResponse } from '../kit/response.js';
import { startFixture } from '../kit/server.js';

// The content of a request record, without a throttle or another reason to make one.

const records: RequestRecord[] = [];
const { server, client } = await startFixture({ observers: [(record) => records.push(record)] });
const queues = QueueWireClient.of(server);
after(() => queues.close());
const blobs = BlobWireClient.of(server);
after(() => blobs.close());

/** The record of the request with this response. It is made after the response was sent. */
async function recordOf(answered: Promise<WireResponse>): Promise<RequestRecord> {
  const id = (await answered).header('x-ms-request-id');
  for (;;) {
    const found = records.find(({ requestId }) => requestId === id);
    if (found !== undefined) return found;
    await new Promise(setImmediate);
  }
}

/** The parts of a record that say what the request was about. */
async function subjectOf(answered: Promise<WireResponse>): Promise<object> {
  const record = await recordOf(answered);
  const { operation, resource, partitionKey, operationCount, load, status, errorCode } = record;
  return { operation, resource, partitionKey, operationCount, load, status, errorCode };
}

const noContent = { Prefer: 'return-no-content' };
const one = { operationCount: 1, errorCode: undefined };

describe('the record of a request', () => {
  it('names the entity that is read or written, and counts it', async () => {
    const table = await client.newTable();
    const inserted = { ...one, resource: table, partitionKey: 'p', status: 204 };
    const load = [{ partitionKey: 'p', count: 1 }];
    assert.deepEqual(
      await subjectOf(client.insert(table, { PartitionKey: 'p', RowKey: 'r' }, noContent)),
      { ...inserted, operation: 'InsertEntity', load },
    );
    assert.deepEqual(await subjectOf(client.get(table, 'p', 'r')), {
      ...inserted,
      status: 200,
      operation: 'GetEntity',
      load,
    });
    const path = entityPath(table, 'p', 'r');
    const headers = { 'If-Match': '*' };
    assert.deepEqual(await subjectOf(client.send({ method: 'DELETE', path, headers })), {
      ...inserted,
      operation: 'DeleteEntity',
      load,
    });
  });

  it('has no load when nothing was read or written, and names what was meant', async () => {
    const table = await client.newTable();
    assert.deepEqual(await subjectOf(client.get(table, 'p', 'missing')), {
      operation: 'GetEntity',
      resource: table,
      partitionKey: 'p',
      operationCount: 1,
      load: [],
      status: 404,
      errorCode: 'ResourceNotFound',
    });
  });

  it('counts the entities of a page by partition, in their order', async () => {
    const table = await client.newTable();
    for (const [partition, rows] of [['a', 3] as const, ['b', 1] as const, ['c', 2] as const]) {
      for (let row = 0; row < rows; row += 1) {
        await client.put(table, { PartitionKey: partition, RowKey: `r${row}` });
      }
    }
    const page = client.query(table, { top: 5 });
    assert.deepEqual(await subjectOf(page), {
      ...one,
      operation: 'QueryEntities',
      resource: table,
      partitionKey: undefined,
      status: 200,
      load: [
        { partitionKey: 'a', count: 3 },
        { partitionKey: 'b', count: 1 },
        { partitionKey: 'c', count: 1 },
      ],
    });
    assert.equal((await recordOf(page)).query?.rowsReturned, 5);
    const nothing = await recordOf(client.query(table, { filter: `RowKey eq 'no'` }));
    assert.deepEqual(nothing.load, []);
  });

  it('counts the operations of a transaction, and says why one failed', async () => {
    const table = await client.newTable();
    const rows = ['1', '2', '3'].map((RowKey) => ({ PartitionKey: 'p', RowKey }));
    const inserts = rows.map((row) => insertOperation(table, row));
    const batch = { resource: table, operationCount: 3, partitionKey: undefined, status: 202 };
    const done = await subjectOf(sendChangeset(client, inserts));
    const operation = 'EntityGroupTransaction';
    const load = [{ partitionKey: 'p', count: 3 }];
    assert.deepEqual(done, { ...batch, operation, load, errorCode: undefined });
    const again = await subjectOf(sendChangeset(client, inserts));
    assert.deepEqual(again, { ...batch, operation, load: [], errorCode: 'EntityAlreadyExists' });
  });

  it('says the error and the size of a transaction that cannot be read', async () => {
    const table = await client.newTable();
    const good = insertOperation(table, { PartitionKey: 'p', RowKey: 'r' });
    const bad = writeOperation('PUT', table, ['other', 'r'], { n: 1 });
    const record = await recordOf(sendChangeset(client, [good, bad]));
    const { operationCount, errorCode, load } = record;
    assert.deepEqual([operationCount, errorCode], [2, 'CommandsInBatchActOnDifferentPartitions']);
    assert.deepEqual(load, []);
  });

  it('says what the one query of a batch has found', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
    const headers = { Accept: acceptMinimal };
    const ask = (path: string) =>
      recordOf(sendBatch(client, plainBatchBody(client.base, [{ method: 'GET', path, headers }])));
    assert.equal((await ask(`/${table}()`)).query?.rowsReturned, 1);
    const { partitionKey, errorCode } = await ask(entityPath(table, 'p', 'missing'));
    assert.deepEqual([partitionKey, errorCode], ['p', 'ResourceNotFound']);
  });

  it('names the operation of a request whose sender is refused', async () => {
    const headers = { Authorization: 'SharedKey devstoreaccount1:AAAA' };
    const url = `${server.tableEndpoint}${entityPath('secret', 'p', 'r')}`;
    const id = (await fetch(url, { headers })).headers.get('x-ms-request-id');
    await client.get('secret', 'p', 'r');
    const record = records.find(({ requestId }) => requestId === id);
    assert.deepEqual(
      [record?.operation, record?.resource, record?.partitionKey, record?.authKind, record?.status],
      ['GetEntity', 'secret', 'p', 'none', 403],
    );
  });

  it('names a table that is created', async () => {
    const body = JSON.stringify({ TableName: 'Made' });
    const { resource } = await recordOf(client.send({ method: 'POST', path: '/Tables', body }));
    assert.equal(resource, 'Made');
  });

  it('counts messages, and tells one from several', async () => {
    const queue = await queues.newQueue();
    await queues.put(queue, 'text');
    const ask = (query: string) => recordOf(queues.send({ path: `/${queue}/messages${query}` }));
    const get = await ask('');
    assert.deepEqual([get.operation, get.resource], ['GetMessage', queue]);
    assert.deepEqual(get.load, [{ partitionKey: '', count: 1 }]);
    const several = await ask('?numofmessages=2');
    assert.deepEqual(
      [several.operation, several.load],
      ['GetMessages', [{ partitionKey: '', count: 0 }]],
    );
    assert.equal((await ask('?peekonly=true')).operation, 'PeekMessage');
  });

  it('names the container and the blob, counts it, and tells the bytes of its body', async () => {
    const container = await blobs.newContainer();
    const path = `/${container}/a%20b/c`;
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    const put = await recordOf(blobs.send({ method: 'PUT', path, headers, body: 'hello' }));
    const about = ['blob', container, 'a b/c', 'shared-key'];
    const load = [{ partitionKey: 'a b/c', count: 1 }];
    const subject = ({ service, resource, partitionKey, authKind }: RequestRecord) => [
      service,
      resource,
      partitionKey,
      authKind,
    ];
    assert.deepEqual(subject(put), about);
    assert.deepEqual([put.operation, put.status, put.bytesReceived], ['PutBlob', 201, 5]);
    assert.deepEqual(put.load, load);
    const get = await recordOf(blobs.send({ path, headers: { Range: 'bytes=1-3' } }));
    assert.deepEqual(subject(get), about);
    assert.deepEqual([get.operation, get.status, get.bytesSent], ['GetBlob', 206, 3]);
    assert.deepEqual(get.load, load);
    const missing = await recordOf(blobs.send({ path: `/${container}/missing` }));
    assert.deepEqual(
      [missing.status, missing.errorCode, missing.partitionKey],
      [404, 'BlobNotFound', 'missing'],
    );
    assert.deepEqual(missing.load, [{ partitionKey: 'missing', count: 1 }]);
    const anonymous = await recordOf(blobs.send({ path, auth: 'none' }));
    assert.deepEqual(
      [anonymous.operation, anonymous.authKind, anonymous.errorCode],
      ['GetBlob', 'none', 'NoAuthenticationInformation'],
    );
    assert.deepEqual(anonymous.load, [], 'it was refused before its work');
    const list = await recordOf(blobs.send({ path: `/${container}?restype=container&comp=list` }));
    assert.deepEqual([list.operation, list.partitionKey], ['ListBlobs', undefined]);
  });
});
