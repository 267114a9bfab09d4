import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  AzureNamedKeyCredential,
  AzureSASCredential,
  generateAccountSas,
  generateTableSas,
  TableClient,
  TableServiceClient,
} from '@azure/data-tables';
import { endpointOf, startCli, stopCli, temporaryDirectory } from '../../support/cli-server.js';
import { assertFrontDoorError, assertJsonError } from '../kit/errors.js';
import { entityPath, WireClient } from '../kit/client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { WireResponse } from '../kit/response.js';
import { queueSas, tableSas, withSas, type SasParameters } from '../kit/sas.js';
import { failureOf } from '../kit/sdk.js';
import { startFixture } from '../kit/server.js';
import { developmentAccount, developmentKey } from '../kit/signature.js';
import { costly } from '../../support/run-length.js';

// Stored access policies: the rights that they give to signatures, and how these are revoked.

const { server, client } = await startFixture();
const queues = QueueWireClient.of(server);
after(() => queues.close());
const failed = { status: 403, code: 'AuthenticationFailed' } as const;

interface Policy {
  readonly id: string;
  readonly start?: string;
  readonly expiry?: string;
  readonly permission?: string;
}

function policiesXml(policies: readonly Policy[]): string {
  const items = policies.map(({ id, start, expiry, permission }) => {
    const members = [
      start === undefined ? '' : `<Start>${start}</Start>`,
      expiry === undefined ? '' : `<Expiry>${expiry}</Expiry>`,
      permission === undefined ? '' : `<Permission>${permission}</Permission>`,
    ].join('');
    return `<SignedIdentifier><Id>${id}</Id><AccessPolicy>${members}</AccessPolicy></SignedIdentifier>`;
  });
  return `<SignedIdentifiers>${items.join('')}</SignedIdentifiers>`;
}

async function setPolicies(table: string, ...policies: readonly Policy[]): Promise<void> {
  const path = `/${table}?comp=acl`;
  const response = await client.send({ method: 'PUT', path, body: policiesXml(policies) });
  assert.equal(response.status, 204, response.text);
}

function ask(table: string, token: SasParameters): Promise<WireResponse> {
  return client.send({ path: withSas(`/${table}()`, token), auth: 'none' });
}

const later = '2099-01-01T00:00:00Z';

describe('the policies of a table', () => {
  it('are set, shown and cleared', async () => {
    const table = await client.newTable();
    const path = `/${table}?comp=acl`;
    const none = await client.send({ path });
    assert.equal(none.status, 200);
    assert.equal(none.header('content-type'), 'application/xml');
    assert.match(none.text, /<SignedIdentifiers \/>$/);
    await setPolicies(
      table,
      { id: 'a', start: '2011-10-11', expiry: '2011-10-12', permission: 'dr' },
      { id: 'empty' },
    );
    const shown = await client.send({ path });
    const policy =
      '<AccessPolicy><Start>2011-10-11T00:00:00.0000000Z</Start>' +
      '<Expiry>2011-10-12T00:00:00.0000000Z</Expiry><Permission>rd</Permission></AccessPolicy>';
    assert.ok(
      shown.text.endsWith(
        `<SignedIdentifiers><SignedIdentifier><Id>a</Id>${policy}</SignedIdentifier>` +
          '<SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>',
      ),
      shown.text,
    );
    const head = await client.send({ method: 'HEAD', path: path.toLowerCase() });
    assert.equal(head.status, 200);
    const cleared = await client.send({ method: 'PUT', path });
    assert.equal(cleared.status, 204);
    assert.match((await client.send({ path })).text, /<SignedIdentifiers \/>$/);
  });

  it('are five at most, well-formed, of an existing table; a refused list changes nothing', async () => {
    const table = await client.newTable();
    await setPolicies(table, { id: 'kept' });
    const six = Array.from({ length: 6 }, (_, index) => ({ id: `p${index}` }));
    const path = `/${table}?comp=acl`;
    for (const [body, code] of [
      [policiesXml(six), 'InvalidXmlDocument'],
      ['<SignedIdentifiers>', 'InvalidXmlDocument'],
      [policiesXml([{ id: 'a', permission: 'w' }]), 'InvalidXmlNodeValue'],
      [policiesXml([{ id: 'a', expiry: 'soon' }]), 'InvalidXmlNodeValue'],
      [policiesXml([{ id: 'x'.repeat(65) }]), 'InvalidXmlDocument'],
    ] as const) {
      const response = await client.send({ method: 'PUT', path, body });
      assertFrontDoorError(response, { status: 400, code });
    }
    assert.match((await client.send({ path })).text, /<Id>kept<\/Id>/);
    await setPolicies(table, ...six.slice(1));
    const missing = await client.send({ path: '/Missing?comp=acl' });
    assertJsonError(missing, { status: 404, code: 'TableNotFound' });
  });

  it('go with the table: one of the same name has none', async () => {
    const table = await client.newTable();
    await setPolicies(table, { id: 'readers', expiry: later, permission: 'r' });
    const token = tableSas({ tn: table, si: 'readers', se: undefined });
    assert.equal((await ask(table, token)).status, 200);
    await client.send({ method: 'DELETE', path: `/Tables('${table}')` });
    assertFrontDoorError(await ask(table, token), failed);
    assert.equal((await client.createTable(table)).status, 201);
    assertFrontDoorError(await ask(table, token), failed);
  });
});

describe('a signature that names a policy', () => {
  const stored: readonly Policy[] = [
    { id: 'whole', start: '2020-01-01', expiry: later, permission: 'r' },
    { id: 'letters', permission: 'r' },
    { id: 'time', expiry: later },
    { id: 'nothing' },
    { id: 'past', start: '2020-01-01', expiry: '2020-01-02', permission: 'r' },
  ];
  const cases: readonly (readonly [given: SasParameters, good: boolean])[] = [
    [{ si: 'whole' }, true],
    [{ si: 'letters', se: later }, true],
    [{ si: 'letters', se: later, st: '2020-01-01' }, true],
    [{ si: 'time', sp: 'r' }, true],
    [{ si: 'nothing', sp: 'r', se: later }, true],
    [{ si: 'letters' }, false],
    [{ si: 'time' }, false],
    [{ si: 'nothing' }, false],
    [{ si: 'nothing', sp: 'r' }, false],
    [{ si: 'past' }, false],
    [{ si: 'letters', se: '2020-01-01' }, false],
    [{ si: 'letters', se: later, st: '2098-01-01' }, false],
    [{ si: 'whole', sp: 'r' }, false],
    [{ si: 'whole', se: later }, false],
    [{ si: 'whole', st: '2020-01-01' }, false],
    [{ si: 'past', se: later }, false],
    [{ si: 'WHOLE' }, false],
    [{ si: 'unknown', sp: 'r', se: later }, false],
    [{ si: 'x'.repeat(65), sp: 'r', se: later }, false],
  ];

  for (const [given, good] of cases) {
    const shown = new URLSearchParams(given as Record<string, string>).toString().slice(0, 60);
    it(`${good ? 'is good' : 'is refused'}: ${shown}`, async () => {
      const table = await client.newTable();
      await setPolicies(table, ...stored);
      const queue = await queues.newQueue();
      await queues.expect(204, {
        method: 'PUT',
        path: `/${queue}?comp=acl`,
        body: policiesXml(stored),
      });
      const response = await ask(table, tableSas({ tn: table, se: undefined, ...given }));
      const token = queueSas(queue, { se: undefined, ...given });
      const path = withSas(`/${queue}/messages?peekonly=true`, token);
      const peeked = await queues.send({ path, auth: 'none' });
      if (good) assert.deepEqual([response.status, peeked.status], [200, 200], response.text);
      else {
        assertFrontDoorError(response, failed);
        assert.equal(peeked.status, 403);
        assert.equal(peeked.header('x-ms-error-code'), failed.code);
      }
    });
  }

  it('takes the policy of its own table', async () => {
    const [one, other] = [await client.newTable(), await client.newTable()];
    await setPolicies(one, { id: 'a', expiry: later, permission: 'r' });
    assertFrontDoorError(await ask(other, tableSas({ tn: other, si: 'a', se: undefined })), failed);
  });

  it('can do what the policy says from then on', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
    const token = tableSas({ tn: table, si: 'a', se: undefined });
    const path = withSas(entityPath(table, 'p', 'r'), token);
    const erase = () =>
      client.send({ method: 'DELETE', path, headers: { 'If-Match': '*' }, auth: 'none' });
    await setPolicies(table, { id: 'a', expiry: later, permission: 'r' });
    const refused = await erase();
    assertJsonError(refused, { status: 403, code: 'AuthorizationPermissionMismatch' });
    await setPolicies(table, { id: 'a', expiry: later, permission: 'rd' });
    assert.equal((await erase()).status, 204);
  });
});

/**
 * Clients that send requests until stopped; each response is recorded with the time at which its
 * request began.
 */
function readers(count: number, send: (reader: number) => Promise<WireResponse>) {
  const answers: { readonly began: number; readonly status: number }[] = [];
  const stopping = new AbortController();
  const loops = Array.from({ length: count }, async (_, reader) => {
    while (!stopping.signal.aborted) {
      const began = performance.now();
      const { status } = await send(reader);
      answers.push({ began, status });
    }
  });
  const stop = async () => {
    stopping.abort();
    await Promise.all(loops);
    return answers;
  };
  return { answers, stop };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

async function assertRevoked(
  count: number,
  send: (reader: number) => Promise<WireResponse>,
  revoke: () => Promise<unknown>,
): Promise<void> {
  const { answers, stop } = readers(count, send);
  await until(() => answers.length > 10 * count);
  await revoke();
  const revoked = performance.now();
  const before = answers.length;
  await until(() => answers.length > before + 10 * count);
  const all = await stop();
  assert.ok(all.slice(0, count).every(({ status }) => status === 200));
  const late = all.filter(({ began }) => began > revoked);
  assert.ok(late.length >= count);
  assert.deepEqual([...new Set(late.map(({ status }) => status))], [403]);
}

describe('taking a policy back', () => {
  it('stops 16 clients that read at that moment: no request that begins later is served', async () => {
    const table = await client.newTable();
    await client.put(table, { PartitionKey: 'p', RowKey: 'r' });
    await setPolicies(table, { id: 'a', expiry: later, permission: 'r' });
    const token = tableSas({ tn: table, si: 'a', se: undefined });
    const clients = Array.from({ length: 16 }, () => new WireClient(server.tablePort));
    const path = withSas(entityPath(table, 'p', 'r'), token);
    const send = (reader: number) => (clients[reader] ?? client).send({ path, auth: 'none' });
    await assertRevoked(16, send, () => setPolicies(table, { id: 'b' }));
    for (const each of clients) each.close();
  });

  it('stops clients of every process that serves the data', costly(), async () => {
    await using directory = await temporaryDirectory();
    const cli = await startCli(['--location', directory.path, '--workers', '2']);
    const { port } = endpointOf(cli);
    const owner = new WireClient(Number(port));
    const table = await owner.newTable();
    await owner.put(table, { PartitionKey: 'p', RowKey: 'r' });
    const acl = { method: 'PUT', path: `/${table}?comp=acl` };
    const policies = policiesXml([{ id: 'a', expiry: later, permission: 'r' }]);
    assert.equal((await owner.send({ ...acl, body: policies })).status, 204);
    const token = tableSas({ tn: table, si: 'a', se: undefined });
    const path = withSas(entityPath(table, 'p', 'r'), token);
    // Connections are distributed among the processes.
    const clients = Array.from({ length: 8 }, () => new WireClient(Number(port)));
    const send = (reader: number) => (clients[reader] ?? owner).send({ path, auth: 'none' });
    await assertRevoked(8, send, () => owner.send(acl));
    for (const each of [owner, ...clients]) each.close();
    await stopCli(cli);
  });
});

describe('@azure/data-tables', () => {
  const credential = new AzureNamedKeyCredential(developmentAccount, developmentKey);
  const options = { allowInsecureConnection: true };
  const url = server.tableEndpoint;
  const expiresOn = new Date(Date.UTC(2099, 0, 1));

  /** The status and code of the error. */
  async function answerOf(work: Promise<unknown>): Promise<string> {
    const { statusCode, code, details, response } = await failureOf(work);
    const { odataError } = (details ?? {}) as { readonly odataError?: { readonly code: string } };
    const sent = response?.headers.get('x-ms-error-code');
    return `${statusCode} ${odataError?.code ?? sent ?? code}`;
  }

  async function seeded(): Promise<TableClient> {
    const owned = new TableClient(url, await client.newTable('Sdk'), credential, options);
    for (const [partitionKey, rowKey] of [
      ['a', '1'],
      ['b', '1'],
      ['b', '2'],
      ['c', '1'],
    ] as const) {
      await owned.createEntity({ partitionKey, rowKey });
    }
    return owned;
  }

  async function keysOf(guest: TableClient): Promise<string[]> {
    const keys: string[] = [];
    for await (const page of guest.listEntities().byPage({ maxPageSize: 1 })) {
      keys.push(...page.map(({ partitionKey, rowKey }) => `${partitionKey}/${rowKey}`));
    }
    return keys;
  }

  it('works within the range of a token of a table', async () => {
    const { tableName } = await seeded();
    const sas = generateTableSas(tableName, credential, {
      expiresOn,
      permissions: { query: true, add: true, update: true },
      startPartitionKey: 'b',
      startRowKey: '1',
      endPartitionKey: 'b',
      endRowKey: '3',
    });
    for (const guest of [
      new TableClient(url, tableName, new AzureSASCredential(sas), options),
      new TableClient(`${url}?${sas}`, tableName, options),
    ]) {
      assert.deepEqual((await keysOf(guest)).slice(0, 2), ['b/1', 'b/2']);
      await guest.upsertEntity({ partitionKey: 'b', rowKey: '3' });
      await guest.submitTransaction([
        ['upsert', { partitionKey: 'b', rowKey: '1' }],
        ['update', { partitionKey: 'b', rowKey: '2', n: 1 }],
      ]);
      assert.equal(await answerOf(guest.getEntity('a', '1')), '404 ResourceNotFound');
      const outside = guest.createEntity({ partitionKey: 'd', rowKey: '1' });
      assert.equal(await answerOf(outside), '403 AuthorizationFailure');
      const letter = guest.deleteEntity('b', '1');
      assert.equal(await answerOf(letter), '403 AuthorizationPermissionMismatch');
      const group = guest.submitTransaction([
        ['upsert', { partitionKey: 'b', rowKey: '2', n: 2 }],
        ['upsert', { partitionKey: 'b', rowKey: '4' }],
      ]);
      assert.equal(await answerOf(group), '403 AuthorizationFailure');
      assert.equal((await guest.getEntity<{ n: number }>('b', '2')).n, 1);
      assert.equal(await answerOf(guest.deleteTable()), '403 AuthorizationFailure');
    }
  });

  it('works by a token of the account', async () => {
    const owned = await seeded();
    const sas = generateAccountSas(credential, {
      expiresOn,
      permissions: {
        query: true,
        write: true,
        delete: true,
        list: true,
        add: true,

        update: true,
      },
    });
    const service = new TableServiceClient(url, new AzureSASCredential(sas), options);
    await service.getProperties();
    await service.createTable('MadeByAGuest');
    await service.deleteTable('MadeByAGuest');
    const guest = new TableClient(url, owned.tableName, new AzureSASCredential(sas), options);
    assert.equal((await keysOf(guest)).length, 4);
    assert.equal(await answerOf(guest.getAccessPolicy()), '403 AuthorizationFailure');
    assert.equal(await answerOf(guest.setAccessPolicy([])), '403 AuthorizationFailure');
  });

  it('sets policies, names one in a token and takes it back', async () => {
    const owned = await seeded();
    const policy = { expiry: expiresOn, permission: 'r', start: new Date(Date.now() - 60_000) };
    await owned.setAccessPolicy([{ id: 'readers', accessPolicy: policy }]);
    const [shown] = await owned.getAccessPolicy();
    assert.deepEqual([shown?.id, shown?.accessPolicy?.permission], ['readers', 'r']);
    assert.deepEqual(shown?.accessPolicy?.expiry, expiresOn);
    const sas = generateTableSas(owned.tableName, credential, { identifier: 'readers' });
    const guest = new TableClient(url, owned.tableName, new AzureSASCredential(sas), options);
    assert.equal((await keysOf(guest)).length, 4);
    await owned.setAccessPolicy([]);
    assert.equal(await answerOf(guest.getEntity('a', '1')), '403 AuthenticationFailed');
  });
});
