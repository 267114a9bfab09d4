import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { ContainerItem } from '@azure/storage-blob';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { officialBlobs, refused } from '../kit/official-blobs.js';

const started = await startServer({ containerRetentionDays: 3 });
const service = officialBlobs(started.server);
const wire = BlobWireClient.of(started.server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

async function listed(prefix: string, includeDeleted = true): Promise<readonly ContainerItem[]> {
  const items: ContainerItem[] = [];
  const pages = service.listContainers({ prefix, includeDeleted }).byPage({ maxPageSize: 1 });
  for await (const page of pages) items.push(...page.containerItems);
  return items;
}

describe('a deleted container that is kept', () => {
  it('is listed with its version, and restored with its blobs', async () => {
    const container = service.getContainerClient('restored');
    await container.create({ metadata: { a: 'b' } });
    await container.getBlockBlobClient('b').upload('one', 3);
    await container.delete();
    await container.create();
    await container.delete();
    assert.deepEqual(await listed('restored', false), []);
    const [first, second, ...others] = await listed('restored');
    assert.equal(others.length, 0);
    assert.equal(first?.deleted, true);
    assert.equal(first.properties.remainingRetentionDays, 3);
    assert.ok(first.properties.deletedOn instanceof Date);
    assert.notEqual(first.version, second?.version);
    await service.undeleteContainer('restored', first.version ?? '');
    assert.deepEqual((await container.getProperties()).metadata, { a: 'b' });
    const blob = await container.getBlockBlobClient('b').downloadToBuffer();
    assert.equal(blob.toString(), 'one');
    const again = service.undeleteContainer('restored', second?.version ?? '');
    assert.deepEqual(await refused(again), [409, 'ContainerAlreadyExists']);
  });

  it('is restored under its own name alone, by who may write containers', async () => {
    const container = service.getContainerClient('named');
    await container.create();
    await container.delete();
    const [{ version = '' } = {}] = await listed('named');
    const restore = (name: string, headers: Readonly<Record<string, string>>) =>
      wire.send({ method: 'PUT', path: `/${name}?restype=container&comp=undelete`, headers });
    const named = { 'x-ms-deleted-container-name': 'named' };
    const whole = { ...named, 'x-ms-deleted-container-version': version };
    assert.equal((await restore('other', whole)).status, 400);
    assert.equal((await restore('named', named)).status, 400);
    const unknown = { ...named, 'x-ms-deleted-container-version': '00000000000000FF' };
    assert.equal((await restore('named', unknown)).status, 404);
    assert.equal((await restore('named', whole)).status, 201);
  });
});
