import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { TableServiceClient } from '@azure/data-tables';
import type { LogFields } from '../../../src/app/index.js';
import { assertFrontDoorError, assertQueueError } from '../kit/errors.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import { startFixture } from '../kit/server.js';

const warnings: LogFields[] = [];
const logger = {
  info: () => undefined,
  warn: (_message: string, fields: LogFields = {}) => void warnings.push(fields),
  error: () => undefined,
};
const strict = await startFixture({ strictApiVersions: true });
const open = await startFixture({ logger });
const strictQueues = QueueWireClient.of(strict.server);
const openQueues = QueueWireClient.of(open.server);
const strictBlobs = BlobWireClient.of(strict.server);
const openBlobs = BlobWireClient.of(open.server);
after(() => strictQueues.close());
after(() => openQueues.close());
after(() => strictBlobs.close());
after(() => openBlobs.close());

const unknown = '2027-01-01';
const details = [
  ['HeaderName', 'x-ms-version'],
  ['HeaderValue', unknown],
] as const;

describe('a server that is strict about versions', () => {
  it('refuses tables asked for in a version that the cloud does not have', async () => {
    const response = await strict.client.send({ headers: { 'x-ms-version': unknown } });
    assertFrontDoorError(response, { status: 400, code: 'InvalidHeaderValue' });
  });

  for (const [name, client] of [
    ['queues', strictQueues],
    ['blobs', strictBlobs],
  ] as const) {
    it(`refuses ${name} asked for in such a version, and names header and value`, async () => {
      const response = await client.send({ version: unknown });
      assertQueueError(response, { status: 400, code: 'InvalidHeaderValue', details });
    });
  }

  it('serves known versions, requests without any, and the official clients', async () => {
    for (const version of ['2009-04-14', '2019-02-02', '2026-06-06']) {
      const response = await strict.client.send({ headers: { 'x-ms-version': version } });
      assert.equal(response.status, 200, version);
      assert.equal(response.header('x-ms-version'), version);
    }
    const { status } = await strict.client.send({ headers: { 'x-ms-version': undefined } });
    assert.equal(status, 200);
    const text = strict.server.connectionString();
    const tables = TableServiceClient.fromConnectionString(text, { allowInsecureConnection: true });
    await tables.createTable('official');
    const queues = QueueServiceClient.fromConnectionString(text);
    await queues.createQueue('official');
    const blobs = BlobServiceClient.fromConnectionString(text);
    await blobs.createContainer('official');
  });
});

describe('a server that is not', () => {
  it('serves unknown versions of all services, and warns once of each', async () => {
    for (const version of [unknown, '2030-12-31', unknown]) {
      const tables = await open.client.send({ headers: { 'x-ms-version': version } });
      const queues = await openQueues.send({ version });
      const blobs = await openBlobs.send({ version });
      assert.deepEqual([tables.status, queues.status, blobs.status], [200, 200, 200]);
      assert.equal(blobs.header('x-ms-version'), version);
      assert.equal(tables.header('x-ms-version'), version);
    }
    assert.deepEqual(
      warnings.map(({ version }) => version),
      [unknown, '2030-12-31'],
    );
  });
});
