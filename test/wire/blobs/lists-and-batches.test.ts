import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  AnonymousCredential,
  BlobServiceClient,
  ContainerSASPermissions,
  newPipeline,
  StorageSharedKeyCredential,
  type ContainerClient,
} from '@azure/storage-blob';
import { answerOf, statusOf } from '../kit/sdk.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';
import { startFixture } from '../kit/server.js';

// Lists, tags, tiers and batches of blobs with the official Node client.

const { server } = await startFixture({}, 'lmdb');
const options = { retryOptions: { maxTries: 1 } };
const service = BlobServiceClient.fromConnectionString(server.connectionString(), options);
const credential = new StorageSharedKeyCredential(developmentAccount, developmentKey);
let containers = 0;

async function newContainer(): Promise<ContainerClient> {
  containers += 1;
  const client = service.getContainerClient(`sdk-lists-${containers}`);
  await client.create();
  return client;
}

async function filled(...names: readonly string[]): Promise<ContainerClient> {
  const container = await newContainer();
  for (const name of names) await container.getBlockBlobClient(name).upload(name, name.length);
  return container;
}

async function paged<T>(pages: AsyncIterable<T>, linesOf: (page: T) => string[]) {
  const found: string[][] = [];
  for await (const page of pages) found.push(linesOf(page));
  return found;
}

describe('a list of blobs with the official client', () => {
  it('comes page by page, in the order of the names', async () => {
    const names = ['B', 'a b', 'a&<b>', 'c/d', 'é', '\ud83d\ude00'];
    const container = await filled(...names);
    const pages = await paged(container.listBlobsFlat().byPage({ maxPageSize: 2 }), ({ segment }) =>
      segment.blobItems.map(({ name }) => name),
    );
    const sorted = names.toSorted((left, right) => (left < right ? -1 : 1));
    assert.deepEqual(pages, [sorted.slice(0, 2), sorted.slice(2, 4), sorted.slice(4)]);
  });

  it('begins at a name, whether there is a blob of it or not', async () => {
    const container = await filled('a', 'dir/1', 'dir/2', 'dir/sub/3', 'z/1');
    const from = (startFrom: string, prefix = '') =>
      paged(
        container.listBlobsFlat({ startFrom, prefix }).byPage({ maxPageSize: 2 }),
        ({ segment }) => segment.blobItems.map(({ name }) => name),
      );
    assert.deepEqual(await from('dir/2'), [['dir/2', 'dir/sub/3'], ['z/1']]);
    assert.deepEqual(await from('dir/15', 'dir/'), [['dir/2', 'dir/sub/3']]);
    assert.deepEqual(await from('a', 'dir/'), [['dir/1', 'dir/2'], ['dir/sub/3']]);
    assert.deepEqual((await from('z', 'dir/')).flat(), []);
    const groups = await paged(
      container.listBlobsByHierarchy('/', { startFrom: 'dir/2' }).byPage(),
      ({ segment }) => (segment.blobPrefixes ?? []).map(({ name }) => name),
    );
    assert.deepEqual(groups, [['dir/', 'z/']]);
  });

  it('has groups, and goes on behind a group', async () => {
    const container = await filled('a', 'dir/1', 'dir/2', 'dir/sub/3', 'dirt', 'z/1');
    const grouped = await paged(
      container.listBlobsByHierarchy('/').byPage({ maxPageSize: 1 }),
      ({ segment }) => [
        ...segment.blobItems.map(({ name }) => name),
        ...(segment.blobPrefixes ?? []).map(({ name }) => name),
      ],
    );
    assert.deepEqual(grouped, [['a'], ['dir/'], ['dirt'], ['z/']]);
    const inside = await paged(
      container.listBlobsByHierarchy('/', { prefix: 'dir/' }).byPage(),
      ({ segment }) => [
        ...segment.blobItems.map(({ name }) => name),
        ...(segment.blobPrefixes ?? []).map(({ name }) => name),
      ],
    );
    assert.deepEqual(inside, [['dir/1', 'dir/2', 'dir/sub/']]);
  });

  it('shows properties, metadata and tags', async () => {
    const container = await newContainer();
    const blob = container.getBlockBlobClient('b');
    const { etag } = await blob.upload('hello', 5, {
      metadata: { Colour: 'blue' },
      tags: { k: 'v' },
      blobHTTPHeaders: { blobContentType: 'text/plain' },
    });
    const include = { includeMetadata: true, includeTags: true };
    const [[item] = []] = await paged(container.listBlobsFlat(include).byPage(), ({ segment }) =>
      segment.blobItems.map(({ name, metadata, tags, properties }) =>
        JSON.stringify([name, metadata, tags, properties.contentType, `"${properties.etag}"`]),
      ),
    );
    const shown = ['b', { Colour: 'blue' }, { k: 'v' }, 'text/plain', etag];
    assert.equal(item, JSON.stringify(shown));
  });

  it('has snapshots before their blobs, and goes on between them', async () => {
    const container = await filled('a', 'b');
    const blob = container.getBlobClient('a');
    const first = (await blob.createSnapshot()).snapshot;
    const second = (await blob.createSnapshot()).snapshot;
    const pages = await paged(
      container.listBlobsFlat({ includeSnapshots: true }).byPage({ maxPageSize: 1 }),
      ({ segment }) => segment.blobItems.map(({ name, snapshot }) => `${name} ${snapshot}`),
    );
    assert.deepEqual(pages, [[`a ${first}`], [`a ${second}`], ['a undefined'], ['b undefined']]);
  });

  it('has uncommitted blobs when it is asked for them', async () => {
    const container = await newContainer();
    const id = Buffer.from('1').toString('base64');
    await container.getBlockBlobClient('staged').stageBlock(id, 'x', 1);
    const names = async (includeUncommitedBlobs: boolean) =>
      paged(container.listBlobsFlat({ includeUncommitedBlobs }).byPage(), ({ segment }) =>
        segment.blobItems.map(({ name }) => name),
      );
    assert.deepEqual(await names(false), [[]]);
    assert.deepEqual(await names(true), [['staged']]);
  });
});

describe('tags with the official client', () => {
  it('are found as soon as a blob is put with them, and not when it is overwritten', async () => {
    const container = await newContainer();
    const blob = container.getBlockBlobClient('a');
    const found = () =>
      paged(container.findBlobsByTags("k >= ''").byPage(), ({ blobs }) =>
        blobs.map(({ name, tags }) => `${name} ${tags?.['k']}`),
      );
    await blob.upload('x', 1, { tags: { k: 'put' } });
    assert.deepEqual(await found(), [['a put']]);
    const id = Buffer.from('1').toString('base64');
    await blob.stageBlock(id, 'x', 1);
    await blob.commitBlockList([id], { tags: { k: 'list' } });
    assert.deepEqual(await found(), [['a list']]);
    await blob.upload('x', 1);
    assert.deepEqual(await found(), [[]]);
  });

  it('are set, read, and found in a container and in the account', async () => {
    const container = await filled('a', 'b', 'c');
    const mark = `m${containers}`;
    for (const name of ['a', 'b', 'c']) {
      const blob = container.getBlobClient(name);
      await blob.setTags({ mark, name });
      assert.deepEqual((await blob.getTags()).tags, { mark, name });
    }
    const where = `mark = '${mark}' AND name > 'a'`;
    const inAccount = await paged(
      service.findBlobsByTags(where).byPage({ maxPageSize: 1 }),
      ({ blobs }) => blobs.map(({ name, tags }) => `${name} ${tags?.['mark']}`),
    );
    assert.deepEqual(inAccount, [[`b ${mark}`], [`c ${mark}`]]);
    const inContainer = await paged(container.findBlobsByTags(where).byPage(), ({ blobs }) =>
      blobs.map(({ name }) => name),
    );
    assert.deepEqual(inContainer, [['b', 'c']]);
  });

  it('decide over a request', async () => {
    const container = await filled('a');
    const blob = container.getBlobClient('a');
    await blob.setTags({ k: 'v' });
    const refused = blob.getProperties({ conditions: { tagConditions: "k = 'w'" } });
    assert.match(await answerOf(refused), /^412 /);
    const allowed = await blob.getProperties({ conditions: { tagConditions: "k = 'v'" } });
    assert.equal(statusOf(allowed), 200);
  });
});

describe('tiers with the official client', () => {
  it('are set, and keep archived blobs from being read', async () => {
    const blob = (await filled('a')).getBlobClient('a');
    const before = await blob.getProperties();
    assert.equal(before.accessTierInferred, true);
    await blob.setAccessTier('Archive');
    assert.equal(await answerOf(blob.download()), '409 BlobArchived');
    await blob.setAccessTier('Hot', { rehydratePriority: 'High' });
    const { accessTier, etag } = await blob.getProperties();
    assert.equal(accessTier, 'Hot');
    assert.equal(etag, before.etag);
    assert.equal((await blob.downloadToBuffer()).toString(), 'a');
  });
});

describe('a batch with the official client', () => {
  it('deletes blobs, and tells which could not be', async () => {
    const container = await filled('a', 'b/c d', 'e');
    const urls = ['a', 'missing', 'b/c d'].map((name) => container.getBlobClient(name).url);
    const batch = await service.getBlobBatchClient().deleteBlobs(urls, credential);
    const { subResponses, subResponsesSucceededCount, subResponsesFailedCount } = batch;
    assert.deepEqual(
      subResponses.map(({ status, errorCode }) => `${status} ${errorCode}`),
      ['202 undefined', '404 BlobNotFound', '202 undefined'],
    );
    assert.deepEqual([subResponsesSucceededCount, subResponsesFailedCount], [2, 1]);
    const left = await paged(container.listBlobsFlat().byPage(), ({ segment }) =>
      segment.blobItems.map(({ name }) => name),
    );
    assert.deepEqual(left, [['e']]);
  });

  it('sets tiers in a container', async () => {
    const container = await filled('a', 'b');
    const urls = ['a', 'b'].map((name) => container.getBlobClient(name).url);
    const client = container.getBlobBatchClient();
    const { subResponses } = await client.setBlobsAccessTier(urls, credential, 'Cool');
    assert.deepEqual(
      subResponses.map(({ status }) => status),
      [200, 200],
    );
    assert.equal((await container.getBlobClient('a').getProperties()).accessTier, 'Cool');
    const elsewhere = (await filled('a')).getBlobClient('a').url;
    const refused = await client.setBlobsAccessTier([elsewhere], credential, 'Cool');
    assert.deepEqual(
      refused.subResponses.map(({ status }) => status),
      [400],
    );
  });

  it('authorises each of its requests by the credential of the request', async () => {
    const container = await filled('a', 'b');
    const url = async (name: string, letters: string) => {
      const sas = await container.generateSasUrl({
        permissions: ContainerSASPermissions.parse(letters),
        expiresOn: new Date(Date.now() + 60_000),
      });
      return `${container.getBlobClient(name).url}?${sas.split('?')[1] ?? ''}`;
    };
    const anonymous = new AnonymousCredential();
    const urls = [await url('a', 'r'), await url('b', 'd'), container.getBlobClient('a').url];
    const { subResponses } = await service.getBlobBatchClient().deleteBlobs(urls, anonymous);
    assert.deepEqual(
      subResponses.map(({ status, errorCode }) => `${status} ${errorCode}`),
      ['403 AuthorizationPermissionMismatch', '202 undefined', '401 NoAuthenticationInformation'],
    );
    const stranger = new BlobServiceClient(service.url, newPipeline(anonymous, options));
    const whole = stranger.getBlobBatchClient().deleteBlobs(urls, anonymous);
    assert.match(await answerOf(whole), /^40[13] /);
  });
});
