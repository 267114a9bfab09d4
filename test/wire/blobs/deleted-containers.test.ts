import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { ContainerItem } from '@azure/storage-blob';
import { manualClock } from '../../../src/base/clock.js';
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

  it('is restored only under its own name, by a caller who may write containers', async () => {
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

describe('a container whose deletion takes its time', () => {
  const beingDeleted = [409, 'ContainerBeingDeleted'];

  for (const containerRetentionDays of [undefined, 3]) {
    const how = containerRetentionDays === undefined ? 'not kept' : 'kept';
    it(`keeps its name from others until the time is over, where it is ${how}`, async () => {
      const clock = manualClock(Date.UTC(2024, 2, 1) * 1000);
      const wait = (seconds: number) => clock.advanceMicros(seconds * 1_000_000);
      const more = { clock, checkClockSkew: false, containerDeleteDelayMs: 30_000 };
      await using slow = await startServer({
        ...more,
        ...(containerRetentionDays && { containerRetentionDays }),
      });
      const account = officialBlobs(slow.server);
      const container = account.getContainerClient('slow');
      await container.create();
      await container.getBlockBlobClient('b').upload('one', 3);
      await container.delete();
      assert.deepEqual(await refused(container.create()), beingDeleted);
      assert.deepEqual(await refused(container.getProperties()), [404, 'ContainerNotFound']);
      assert.deepEqual(await refused(container.delete()), [404, 'ContainerNotFound']);
      const put = container.getBlockBlobClient('c').upload('two', 3);
      assert.deepEqual(await refused(put), [404, 'ContainerNotFound']);
      await account.getContainerClient('other').create();
      wait(29);
      assert.deepEqual(await refused(container.create()), beingDeleted);
      wait(1);
      await container.create();
      assert.deepEqual(await refused(container.create()), [409, 'ContainerAlreadyExists']);
      assert.equal(await container.getBlobClient('b').exists(), false);
    });
  }

  it('is restored meanwhile, and deleted again', async () => {
    const delayed = { containerRetentionDays: 3, containerDeleteDelayMs: 600_000 };
    await using slow = await startServer(delayed);
    const account = officialBlobs(slow.server);
    const container = account.getContainerClient('back');
    await container.create();
    await container.delete();
    for await (const { version = '' } of account.listContainers({ includeDeleted: true })) {
      await account.undeleteContainer('back', version);
    }
    assert.equal(await container.exists(), true);
    assert.deepEqual(await refused(container.create()), [409, 'ContainerAlreadyExists']);
    await container.delete();
    assert.deepEqual(await refused(container.create()), beingDeleted);
  });
});
