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
import { blobSas } from '../kit/blob-sas.js';
import { officialBlobs, refused } from '../kit/official-blobs.js';
import { withSas } from '../kit/sas.js';

const started = await startServer({ blobVersioning: true });
const service = officialBlobs(started.server);
const wire = BlobWireClient.of(started.server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

let containers = 0;
async function container(): Promise<ContainerClient> {
  containers += 1;
  const made = service.getContainerClient(`versions-${containers}`);
  await made.create();
  return made;
}

async function listed(blobs: ContainerClient, options: ContainerListBlobsOptions) {
  const items = [];
  for await (const item of blobs.listBlobsFlat(options)) items.push(item);
  return items;
}

const textOf = async (blob: BlobClient) => (await blob.downloadToBuffer()).toString();

describe('the official client and versions of blobs', () => {
  it('reads what was written over, and promotes it by a copy', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    const { versionId: first = '' } = await blob.upload('one', 3);
    assert.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/);
    const { versionId: second = '' } = await blob.upload('second', 6);
    const { versionId: third = '' } = await blob.setMetadata({ k: 'v' });
    assert.deepEqual([first, second, third].toSorted(), [first, second, third]);
    assert.equal(await textOf(blob.withVersion(first)), 'one');
    const current = await blob.getProperties();
    assert.deepEqual([current.versionId, current.isCurrentVersion], [third, true]);
    const past = await blob.withVersion(second).getProperties();
    assert.deepEqual([past.versionId, past.isCurrentVersion], [second, undefined]);
    assert.deepEqual([past.leaseState, past.metadata], [undefined, {}]);
    const before = await listed(blobs, { includeVersions: true });
    assert.deepEqual(
      before.map(({ versionId, isCurrentVersion }) => [versionId, isCurrentVersion]),
      [
        [first, undefined],
        [second, undefined],
        [third, true],
      ],
    );
    await blob.syncCopyFromURL(blob.withVersion(first).url);
    assert.equal(await textOf(blob), 'one');
    assert.match((await blob.getProperties()).copySource ?? '', /\?versionid=/);
    assert.equal((await listed(blobs, { includeVersions: true })).length, 4);
    assert.equal((await listed(blobs, {})).length, 1);
  });

  it('copies no version by the signature for a snapshot', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    const { versionId = '' } = await blob.upload('secret', 6);
    await blob.upload('public', 6);
    const { snapshot = '' } = await blob.createSnapshot();
    const fields = { sr: 'bs', sp: 'r', snapshot };
    const source = withSas(blob.url, blobSas(`${blobs.containerName}/a`, fields));
    const target = blobs.getBlockBlobClient('b');
    await target.syncCopyFromURL(source);
    assert.equal(await textOf(target), 'public');
    const stolen = target.syncCopyFromURL(`${source}&versionid=${versionId}`);
    assert.deepEqual(await refused(stolen), [400, 'InvalidHeaderValue']);
  });

  it('deletes a blob, whose versions stay until each is deleted', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    const { versionId = '' } = await blob.upload('one', 3);
    const version = blob.withVersion(versionId);
    const current = [403, 'OperationNotAllowedOnRootBlob'];
    assert.deepEqual(await refused(version.delete()), current);
    await blob.delete();
    assert.deepEqual(await refused(blob.download()), [404, 'BlobNotFound']);
    assert.equal(await textOf(version), 'one');
    const [left] = await listed(blobs, { includeDeletedWithVersions: true });
    assert.deepEqual([left?.name, left?.hasVersionsOnly], ['a', true]);
    assert.deepEqual(await listed(blobs, {}), []);
    const groups = [];
    const grouped = { includeVersions: true, includeDeletedWithVersions: true };
    for await (const item of blobs.listBlobsByHierarchy('/', grouped)) groups.push(item.kind);
    assert.deepEqual(groups, ['blob']);
    await version.delete();
    assert.deepEqual(await refused(version.download()), [404, 'BlobNotFound']);
  });

  it('tags a version, sets its tier, and takes snapshots', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    const { versionId = '' } = await blob.upload('one', 3);
    const { snapshot, versionId: after } = await blob.createSnapshot();
    assert.notEqual(after, undefined);
    assert.equal(await textOf(blob.withSnapshot(snapshot ?? '')), 'one');
    const version = blob.withVersion(versionId);
    await version.setTags({ k: 'v' });
    await version.setAccessTier('Cool');
    assert.deepEqual((await version.getTags()).tags, { k: 'v' });
    assert.equal((await version.getProperties()).accessTier, 'Cool');
    assert.deepEqual((await blob.getTags()).tags, {});
    const batch = blobs.getBlobBatchClient();
    const { subResponsesFailedCount } = await batch.deleteBlobs([version]);
    assert.equal(subResponsesFailedCount, 0);
    await blob.delete({ deleteSnapshots: 'include' });
    assert.equal((await listed(blobs, { includeVersions: true })).length, 1);
  });

  it('needs x to delete a version, and reads one by a signature of its own', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    const { versionId = '' } = await blob.upload('one', 3);
    const { versionId: other = '' } = await blob.upload('two', 3);
    const expiresOn = new Date(Date.now() + 3_600_000);
    const signed = async (letters: string, of: BlobClient = blob) => {
      const permissions = BlobSASPermissions.parse(letters);
      return of.generateSasUrl({ permissions, expiresOn });
    };
    const remove = async (letters: string) =>
      fetch(`${await signed(letters)}&versionid=${versionId}`, { method: 'DELETE' });
    const read = await signed('r', blob.withVersion(versionId));
    assert.match(read, /sr=bv/);
    assert.equal(await (await fetch(read)).text(), 'one');
    const elsewhere = await fetch(read.replaceAll(encodeURIComponent(versionId), other));
    assert.equal(elsewhere.status, 403);
    assert.equal((await remove('rwd')).status, 403);
    assert.equal((await remove('x')).status, 202);
    const permission = [403, 'AuthorizationPermissionMismatch'];
    assert.deepEqual(await refused(new BlobClient(await signed('x')).delete()), permission);
  });

  it('writes nothing to a version, and hides ids from versions of the protocol before them', async () => {
    const blobs = await container();
    const { versionId = '' } = await blobs.getAppendBlobClient('a').create();
    const path = `/${blobs.containerName}/a`;
    const at = `versionid=${versionId}`;
    for (const query of ['comp=metadata', 'comp=appendblock', 'comp=snapshot', 'comp=properties']) {
      const write = { method: 'PUT', path: `${path}?${query}&${at}`, body: 'x' };
      assert.equal((await wire.send(write)).status, 400, query);
    }
    const list = `/${blobs.containerName}?restype=container&comp=list`;
    const before = { 'x-ms-version': '2019-07-07' };
    const { text } = await wire.expect(200, { path: list, headers: before });
    assert.doesNotMatch(text, /VersionId/);
    assert.match((await wire.expect(200, { path: list })).text, /<VersionId>/);
  });

  it('are found by the tags that each has, where a search asks for them', async () => {
    const blobs = await container();
    const blob = blobs.getBlockBlobClient('a');
    const { versionId: first = '' } = await blob.upload('one', 3, { tags: { k: 'v', l: '1' } });
    const { versionId: second = '' } = await blob.upload('two', 3, { tags: { k: 'v', l: '2' } });
    const { versionId: third = '' } = await blob.upload('three', 5, { tags: { k: 'w' } });
    const path = `/${blobs.containerName}?restype=container&comp=blobs`;
    const found = async (where: string, more = '') => {
      const asked = `${path}&where=${encodeURIComponent(where)}${more}`;
      const { text } = await wire.expect(200, { path: asked });
      return [...text.matchAll(/<(VersionId|IsCurrentVersion)>([^<]+)</g)].map(([, , is]) => is);
    };
    assert.deepEqual(await found("k='w'"), []);
    assert.deepEqual(await found("k='w'", '&include=versions'), [third, 'true']);
    assert.deepEqual(await found("k='v'", '&include=versions'), [first, second]);
    await blob.withVersion(first).setTags({ k: 'w' });
    assert.deepEqual(await found("k='w'", '&include=versions'), [first, third, 'true']);
    await blob.withVersion(second).delete();
    assert.deepEqual(await found("k='v'", '&include=versions'), []);
    const wrong = await wire.send({ path: `${path}&where=k%3D'v'&include=snapshots` });
    assert.equal(wrong.status, 400);
  });
});
