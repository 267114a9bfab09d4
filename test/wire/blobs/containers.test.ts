import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { manualClock } from '../../../src/base/clock.js';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { assertStatus } from '../kit/errors.js';
import { officialBlobs, refused } from '../kit/official-blobs.js';

const clock = manualClock(Date.now() * 1000);
const started = await startServer({ clock, checkClockSkew: false });
const { server } = started;
const wire = BlobWireClient.of(server);
const service = officialBlobs(server);
after(async () => {
  wire.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, [], 'the server logged errors');
});

let containers = 0;
function container() {
  containers += 1;
  return service.getContainerClient(`official-${containers}`);
}

describe('the life of a container', () => {
  it('is created, shown, changed, listed and deleted', async () => {
    const one = container();
    const made = await one.create({ metadata: { Owner: 'me' } });
    assert.match(made.etag ?? '', /^"0x[0-9A-F]{15}"$/);
    assert.deepEqual(await refused(one.create()), [409, 'ContainerAlreadyExists']);
    const shown = await one.getProperties();
    assert.deepEqual(
      [shown.etag, shown.metadata, shown.leaseState, shown.leaseStatus, shown.blobPublicAccess],
      [made.etag, { owner: 'me' }, 'available', 'unlocked', undefined],
    );
    clock.advanceMicros(1_000_000);
    const changed = await one.setMetadata({ a: 'b' });
    assert.notEqual(changed.etag, made.etag);
    const query = { prefix: one.containerName, includeMetadata: true };
    const { value: listed } = await service.listContainers(query).next();
    assert.deepEqual(
      [listed?.name, listed?.metadata, listed?.properties.etag],
      [one.containerName, { a: 'b' }, changed.etag],
    );
    await one.delete();
    assert.deepEqual(await refused(one.getProperties()), [404, 'ContainerNotFound']);
    assert.equal(await one.exists(), false);
    await one.create();
  });

  it('is listed page by page in the order of names', async () => {
    const names = ['paged-a', 'paged-b', 'paged-c'];
    for (const name of names) await service.createContainer(name);
    const found: (string | undefined)[] = [];
    for await (const page of service
      .listContainers({ prefix: 'paged-' })
      .byPage({ maxPageSize: 2 })) {
      assert.ok(page.containerItems.length <= 2);
      found.push(...page.containerItems.map(({ name }) => name));
    }
    assert.deepEqual(found, names);
  });

  it('has a name by the rules, or one of those with a meaning', async () => {
    for (const [name, code] of [
      ['ab', 'OutOfRangeInput'],
      ['a'.repeat(64), 'OutOfRangeInput'],
      ['Upper', 'InvalidResourceName'],
      ['a--b', 'InvalidResourceName'],
      ['-ab', 'InvalidResourceName'],
      ['$other', 'InvalidResourceName'],
    ] as const) {
      const request = { method: 'PUT', path: `/${name}?restype=container` };
      assertStatus(await wire.send(request), 400, code);
    }
    for (const name of ['$root', '%24web'])
      await wire.expect(201, { method: 'PUT', path: `/${name}?restype=container` });
    const own = await wire.send({ method: 'PUT', path: '/$logs?restype=container' });
    assertStatus(own, 403, 'AuthorizationFailure');
  });

  it('answers HEAD as GET, without a body', async () => {
    const name = await wire.newContainer();
    for (const comp of ['', '&comp=metadata', '&comp=acl']) {
      const path = `/${name}?restype=container${comp}`;
      const [head, get] = [await wire.send({ method: 'HEAD', path }), await wire.send({ path })];
      assert.deepEqual([head.status, head.body.length], [200, 0]);
      assert.equal(head.header('etag'), get.header('etag'));
    }
    const gone = await wire.send({ method: 'HEAD', path: '/missing?restype=container' });
    assertStatus(gone, 404, 'ContainerNotFound');
    assert.equal(gone.body.length, 0);
  });

  it('changes nothing at the secondary endpoint', async () => {
    const target = '/devstoreaccount1-secondary/second?restype=container';
    const written = await wire.send({ method: 'PUT', target });
    assertStatus(written, 403, 'InsufficientAccountPermissions');
    assertStatus(await wire.send({ target }), 404, 'ContainerNotFound');
  });
});

describe('the access policies of a container', () => {
  it('come back as they were set, and go with the next set', async () => {
    const one = container();
    await one.create();
    const startsOn = new Date('2020-01-01T00:00:00Z');
    const expiresOn = new Date('2030-01-01T00:00:00Z');
    const policy = { id: 'readers', accessPolicy: { permissions: 'rl', startsOn, expiresOn } };
    await one.setAccessPolicy('blob', [policy]);
    const set = await one.getAccessPolicy();
    assert.deepEqual([set.blobPublicAccess, set.signedIdentifiers], ['blob', [policy]]);
    await one.setAccessPolicy();
    const unset = await one.getAccessPolicy();
    assert.deepEqual([unset.blobPublicAccess, unset.signedIdentifiers], [undefined, []]);
  });

  it('with letters that came later are refused to earlier versions', async () => {
    const name = await wire.newContainer();
    const path = `/${name}?restype=container&comp=acl`;
    const body =
      '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>rc</Permission>' +
      '</AccessPolicy></SignedIdentifier></SignedIdentifiers>';
    await wire.expect(200, { method: 'PUT', path, body });
    assertStatus(await wire.send({ path, version: '2014-02-14' }), 409, 'FeatureVersionMismatch');
    await wire.expect(200, { path, version: '2015-04-05' });
  });
});

describe('the lease of a container', () => {
  const id = '11111111-2222-3333-4444-555555555555';
  const other = '99999999-2222-3333-4444-555555555555';

  it('keeps it from being deleted by others, and from nothing else', async () => {
    const one = container();
    await one.create();
    const lease = one.getBlobLeaseClient(id);
    assert.equal((await lease.acquireLease(15)).leaseId, id);
    const leased = await one.getProperties();
    assert.deepEqual(
      [leased.leaseState, leased.leaseStatus, leased.leaseDuration],
      ['leased', 'locked', 'fixed'],
    );
    await one.setMetadata({ a: 'b' });
    const wrong = { conditions: { leaseId: other } };
    assert.deepEqual(await refused(one.delete()), [412, 'LeaseIdMissing']);
    const mismatch = [412, 'LeaseIdMismatchWithContainerOperation'];
    assert.deepEqual(await refused(one.delete(wrong)), mismatch);
    assert.deepEqual(await refused(one.setMetadata({}, wrong)), mismatch);
    assert.deepEqual(await refused(one.getAccessPolicy(wrong)), mismatch);
    await one.delete({ conditions: { leaseId: id } });
  });

  it('ends with its time, and can be renewed until then and afterwards', async () => {
    const one = container();
    await one.create();
    const lease = one.getBlobLeaseClient(id);
    await lease.acquireLease(15);
    clock.advanceMicros(14_000_000);
    await lease.renewLease();
    clock.advanceMicros(16_000_000);
    assert.equal((await one.getProperties()).leaseState, 'expired');
    assert.deepEqual(await refused(one.delete({ conditions: { leaseId: id } })), [
      412,
      'LeaseNotPresentWithContainerOperation',
    ]);
    await lease.renewLease();
    assert.equal((await one.getProperties()).leaseState, 'leased');
  });

  it('is changed, released and broken, which changes no etag', async () => {
    const one = container();
    const { etag } = await one.create();
    const lease = one.getBlobLeaseClient(id);
    await lease.acquireLease(-1);
    assert.deepEqual(await refused(one.getBlobLeaseClient(other).acquireLease(-1)), [
      409,
      'LeaseAlreadyPresent',
    ]);
    await lease.changeLease(other);
    const broken = await lease.breakLease(20);
    assert.equal(broken.leaseTime, 20);
    assert.equal((await one.getProperties()).leaseState, 'breaking');
    clock.advanceMicros(21_000_000);
    assert.equal((await one.getProperties()).leaseState, 'broken');
    const after = await one.getBlobLeaseClient(other).releaseLease();
    assert.equal(after.etag, etag);
    assert.equal((await one.getProperties()).leaseState, 'available');
  });
});
