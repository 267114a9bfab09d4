import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { blobSas } from '../kit/blob-sas.js';
import { assertStatus } from '../kit/errors.js';
import { withSas } from '../kit/sas.js';

// Accounts in which nothing is public, whatever containers say (blob-service §4.6).

const key = Buffer.from('a key of its own').toString('base64');
const accounts = ['first', 'second'].map((name) => ({ name, key }));
const started = await startServer({ accounts, refusePublicAccess: ['second'] });
const { server } = started;
const [open, shut] = accounts.map(
  ({ name }) => new BlobWireClient(server.blobPort, { account: name, key }),
);
assert.ok(open !== undefined && shut !== undefined);
after(async () => {
  open.close();
  shut.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});

const isPublic = { 'x-ms-blob-public-access': 'container' };
const code = 'PublicAccessNotPermitted';

async function blobOf(client: BlobWireClient, container: string): Promise<string> {
  const path = `/${container}/b`;
  const headers = { 'x-ms-blob-type': 'BlockBlob' };
  await client.expect(201, { method: 'PUT', path, headers, body: 'hello' });
  return path;
}

describe('an account without public access', () => {
  it('has no container that becomes public, and changes nothing', async () => {
    const path = '/published?restype=container';
    const make = { method: 'PUT', path, headers: isPublic };
    assertStatus(await shut.send(make), 409, code);
    assertStatus(await shut.send({ path }), 404, 'ContainerNotFound');
    assertStatus(await open.send(make), 201);
    const name = await shut.newContainer();
    const acl = { method: 'PUT', path: `/${name}?restype=container&comp=acl` };
    assertStatus(await shut.send({ ...acl, headers: isPublic }), 409, code);
    assertStatus(await shut.send(acl), 200);
    const { headers } = await shut.expect(200, { path: `/${name}?restype=container` });
    assert.ok(headers.every(([each]) => each !== 'x-ms-blob-public-access'));
  });

  it('answers nobody without a credential, and others as before', async () => {
    const path = await blobOf(shut, await shut.newContainer());
    for (const request of [
      { path },
      { method: 'HEAD', path },
      { path: `${path}?comp=metadata` },
      { path: '/no-container?restype=container&comp=list' },
    ]) {
      const refused = await shut.send({ ...request, auth: 'none' });
      assert.equal(refused.status, 409);
      assert.equal(refused.header('x-ms-error-code'), code);
    }
    assertStatus(await shut.send({ path }), 200);
    const token = blobSas(path.slice(1), { sr: 'b', sp: 'r' }, { account: shut.account, key });
    assertStatus(await shut.send({ path: withSas(path, token), auth: 'none' }), 200);
  });

  it('is open again, with what its containers say, when the choice is taken back', async () => {
    const container = await open.newContainer(isPublic);
    const path = await blobOf(open, container);
    const source = `${server.blobEndpoint}${path}`;
    const copy = (target: string) => {
      const headers = { 'x-ms-copy-source': source };
      return shut.send({ method: 'PUT', path: target, headers });
    };
    const target = `/${await shut.newContainer()}/copied`;
    assertStatus(await copy(target), 202);
    await server.reload({ refusePublicAccess: true });
    assertStatus(await open.send({ path, auth: 'none' }), 409, code);
    assert.ok((await copy(target)).status >= 400, 'a copy by another account is by nobody');
    const { head } = await open.expect(200, { path: `/${container}?restype=container` });
    assert.match(head, /^x-ms-blob-public-access: container\r?$/im);
    await server.reload({ refusePublicAccess: false });
    assertStatus(await open.send({ path, auth: 'none' }), 200);
    assertStatus(
      await shut.send({ method: 'PUT', path: '/now?restype=container', headers: isPublic }),
      201,
    );
  });
});
