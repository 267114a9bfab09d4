import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startServer } from '../../test/support/start-server.js';
import { BlobWireClient } from '../../test/wire/kit/blob-client.js';
import { WireClient } from '../../test/wire/kit/client.js';
import { AccountSettingsError, ServerOptionsError, type AccountOptions } from './index.js';

const [keyA, keyB] = ['a', 'b'].map((text) => Buffer.from(`key ${text}`).toString('base64'));
const first: AccountOptions = { name: 'first', key: keyA ?? '' };
const second: AccountOptions = { name: 'second', key: keyB ?? '' };

/** The status of a signed request on a connection that is kept. */
async function statusOf(client: WireClient): Promise<number> {
  return (await client.send({})).status;
}

describe('server.reload', () => {
  it('changes keys and accounts at once, on connections that are open as well', async () => {
    await using started = await startServer({ accounts: [first] });
    const { server } = started;
    const withA = new WireClient(server.tablePort, 'first', keyA);
    const withB = new WireClient(server.tablePort, 'first', keyB);
    const other = new WireClient(server.tablePort, 'second', keyB);
    const statuses = async (): Promise<number[]> =>
      Promise.all([withA, withB, other].map(statusOf));
    assert.deepEqual(await statuses(), [200, 403, 404]);
    await server.reload({ accounts: [{ name: 'first', keys: [keyA ?? '', keyB ?? ''] }, second] });
    assert.deepEqual(await statuses(), [200, 200, 200]);
    await server.reload({ accounts: [{ name: 'first', key: keyB ?? '' }] });
    assert.deepEqual(await statuses(), [403, 200, 404]);
    for (const client of [withA, withB, other]) client.close();
  });

  it('says where and with what to connect from then on', async () => {
    await using started = await startServer({ accounts: [first] });
    const { server } = started;
    const ports = [server.tablePort, server.queuePort];
    await server.reload({ accounts: [second] });
    assert.deepEqual(server.accounts, ['second']);
    assert.ok(server.tableEndpoint.endsWith('/second'));
    assert.ok(server.connectionString().includes(`AccountName=second;AccountKey=${keyB}`));
    assert.throws(() => server.connectionString('first'), /there is: second/);
    assert.deepEqual([server.tablePort, server.queuePort], ports);
  });

  it('keeps the data of an account that is gone until it comes back', async () => {
    await using started = await startServer({ accounts: [first, second] });
    const { server } = started;
    const client = new WireClient(server.tablePort, 'first', keyA);
    const table = await client.newTable();
    await server.reload({ accounts: [second] });
    assert.equal(await statusOf(client), 404);
    await server.reload({ accounts: [first] });
    const { text } = await client.send({});
    assert.ok(text.includes(table));
    client.close();
  });

  const refused: readonly [what: string, accounts: readonly AccountOptions[], error: unknown][] = [
    ['no account', [], ServerOptionsError],
    ['an account twice', [second, second], AccountSettingsError],
    ['a key that is none', [second, { name: 'third', key: '?' }], AccountSettingsError],
    ['a name that is none', [second, { name: 'Third', key: keyA ?? '' }], AccountSettingsError],
  ];
  for (const [what, accounts, error] of refused) {
    it(`changes nothing for ${what}`, async () => {
      await using started = await startServer({ accounts: [first] });
      const { server } = started;
      await assert.rejects(server.reload({ accounts }), error as ErrorConstructor);
      assert.deepEqual(server.accounts, ['first']);
      const client = new WireClient(server.tablePort, 'first', keyA);
      assert.equal(await statusOf(client), 200);
      client.close();
    });
  }

  it('changes for how long containers are kept, and which accounts keep versions', async () => {
    await using started = await startServer({ accounts: [first] });
    const { server } = started;
    const client = new BlobWireClient(server.blobPort, { account: 'first', key: keyA ?? '' });
    const container = { method: 'PUT', path: '/kept?restype=container' };
    const upload = {
      method: 'PUT',
      path: '/kept/blob',
      headers: { 'x-ms-blob-type': 'BlockBlob' },
      body: Buffer.from('x'),
    };
    const deletedNames = async (): Promise<string[]> => {
      await client.expect(201, container);
      const uploaded = await client.expect(201, upload);
      await client.expect(202, { ...container, method: 'DELETE' });
      const { text } = await client.expect(200, { path: '/?comp=list&include=deleted' });
      const names = [...text.matchAll(/<Name>([^<]+)</g)].map(([, name]) => String(name));
      return uploaded.header('x-ms-version-id') === undefined ? names : ['versioned', ...names];
    };
    assert.deepEqual(await deletedNames(), []);
    await server.reload({ containerRetentionDays: 2, blobVersioning: ['first'] });
    assert.deepEqual(await deletedNames(), ['versioned', 'kept']);
    await server.reload({ blobVersioning: false });
    assert.deepEqual(await deletedNames(), ['kept', 'kept']);
    await server.reload({ containerRetentionDays: 0 });
    assert.deepEqual(await deletedNames(), ['kept', 'kept']);
    client.close();
  });

  it('leaves alone what it is not told to change', async () => {
    await using started = await startServer({ accounts: [first] });
    await started.server.reload({});
    assert.deepEqual(started.server.accounts, ['first']);
  });
});
