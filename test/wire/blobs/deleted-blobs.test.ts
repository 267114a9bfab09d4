import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  BlobClient,
  BlobSASPermissions,
  type ContainerClient,
  type ContainerListBlobsOptions,
} from '@azure/storage-blob';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { officialBlobs, refused } from '../kit/official-blobs.js';

const started = await startServer({});
const service = officialBlobs(started.server);
const wire = BlobWireClient.of(started.server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

async function setPolicy(policy: string): Promise<void> {
  const body = `<StorageServiceProperties><DeleteRetentionPolicy>${policy}</DeleteRetentionPolicy></StorageServiceProperties>`;
  const path = '/?restype=service&comp=properties';
  await wire.expect(202, { method: 'PUT', path, body });
}

const kept = '<Enabled>true</Enabled><Days>7</Days>';
let containers = 0;
async function container(): Promise<ContainerClient> {
  await setPolicy(`${kept}<AllowPermanentDelete>true</AllowPermanentDelete>`);
  containers += 1;
  const made = service.getContainerClient(`deleted-${containers}`);
  await made.create();
  return made;
}

async function listed(blobs: ContainerClient, options: ContainerListBlobsOptions) {
  const items = [];
  for await (const item of blobs.listBlobsFlat(options)) items.push(item);
  return items;
}

/** Deletes a blob with its snapshots. Returns whether that is permanent. */
async function deletion({ containerName, name }: BlobClient): Promise<string | undefined> {
  const headers = { 'x-ms-delete-snapshots': 'include' };
  const path = `/${containerName}/${name}`;
  const answer = await wire.expect(202, { method: 'DELETE', path, headers });
  return answer.header('x-ms-delete-type-permanent');
}

const everything = { includeDeleted: true, includeSnapshots: true };

describe('a deleted blob that is kept', () => {
  it('is listed with its time and days, and restored with its snapshots', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    const { etag } = await blob.upload('one', 3);
    const { snapshot = '' } = await blob.createSnapshot();
    assert.equal(await deletion(blob), 'false');
    assert.deepEqual(await refused(blob.download()), [404, 'BlobNotFound']);
    assert.deepEqual(await listed(blobs, { includeSnapshots: true }), []);
    const [alone, ...others] = await listed(blobs, { includeDeleted: true });
    assert.equal(others.length, 0);
    assert.equal(alone?.deleted, true);
    assert.equal(alone.properties.remainingRetentionDays, 7);
    assert.ok(alone.properties.deletedOn instanceof Date);
    assert.equal(alone.properties.leaseState, undefined);
    assert.equal((await listed(blobs, everything)).length, 2);
    await blob.undelete();
    assert.equal((await blob.getProperties()).etag, etag);
    assert.equal((await blob.withSnapshot(snapshot).downloadToBuffer()).toString(), 'one');
    assert.equal((await listed(blobs, everything)).filter((item) => item.deleted).length, 0);
  });

  it('is an overwritten state, which is promoted by a copy after it was restored', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    await blob.upload('one', 3);
    await blob.upload('second', 6);
    const [old] = await listed(blobs, everything);
    assert.equal(old?.deleted, true);
    const before = blob.withSnapshot(old.snapshot);
    assert.deepEqual(await refused(before.getProperties()), [404, '']);
    await blob.undelete();
    await blob.syncCopyFromURL(before.url);
    assert.equal((await blob.downloadToBuffer()).toString(), 'one');
  });

  it('needs w to be restored, and y to go before its time', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    await blob.upload('one', 3);
    const { snapshot = '' } = await blob.createSnapshot();
    const taken = blob.withSnapshot(snapshot);
    const expiresOn = new Date(Date.now() + 3_600_000);
    const signed = (letters: string) => {
      const permissions = BlobSASPermissions.parse(letters);
      return blob.generateSasUrl({ permissions, expiresOn });
    };
    const end = async (letters: string) => {
      const url = `${await signed(letters)}&snapshot=${snapshot}&deletetype=permanent`;
      const { status, headers } = await fetch(url, { method: 'DELETE' });
      return [status, headers.get('x-ms-error-code') ?? headers.get('x-ms-delete-type-permanent')];
    };
    assert.deepEqual(await end('y'), [409, 'BlobSnapshotNotSoftDeleted']);
    await taken.delete();
    assert.deepEqual(await end('d'), [403, 'AuthorizationPermissionMismatch']);
    await blob.delete();
    const restore = async (letters: string) => new BlobClient(await signed(letters)).undelete();
    assert.deepEqual(await refused(restore('d')), [403, 'AuthorizationPermissionMismatch']);
    await restore('w');
    await taken.delete();
    assert.deepEqual(await end('y'), [202, 'true']);
    assert.equal((await listed(blobs, everything)).length, 1);
  });

  it('is not permanently deleted where the policy does not allow it', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    await blob.upload('one', 3);
    const { snapshot = '' } = await blob.createSnapshot();
    const path = `/${blobs.containerName}/a?deletetype=permanent`;
    const one = await wire.send({ method: 'DELETE', path });
    assert.equal(one.status, 409);
    await blob.withSnapshot(snapshot).delete();
    await setPolicy(kept);
    const two = await wire.send({ method: 'DELETE', path: `${path}&snapshot=${snapshot}` });
    assert.equal(two.status, 409);
    assert.match(two.text, /BlobSnapshotNotSoftDeleted/);
  });

  it('is gone at once without a policy', async () => {
    const blobs = await container();
    await setPolicy('<Enabled>false</Enabled>');
    const blob = blobs.getBlockBlobClient('a');
    await blob.upload('one', 3);
    assert.equal(await deletion(blob), 'true');
    assert.deepEqual(await listed(blobs, everything), []);
    assert.deepEqual(await refused(blob.undelete()), [404, 'BlobNotFound']);
  });
});
