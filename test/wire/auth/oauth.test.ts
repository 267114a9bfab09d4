import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { TableClient, TableServiceClient } from '@azure/data-tables';
import { newPipeline, QueueServiceClient } from '@azure/storage-queue';
import { createServer as createStorage, ServerOptionsError } from '../../../src/app/index.js';
import type { LogFields, OAuthOptions, ServerOptions } from '../../../src/app/index.js';
import { assembled, testIssuer, testTenant } from '../../support/oauth-issuer.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { assertFrontDoorError } from '../kit/errors.js';
import { WireClient } from '../kit/client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { WireResponse } from '../kit/response.js';

const issuer = await testIssuer();

const contributor = { roles: ['Storage Table Data Contributor', 'Storage Queue Data Contributor'] };
const challenge =
  `Bearer authorization_uri=https://issuer.example/${testTenant}/oauth2/authorize ` +
  'resource_id=https://storage.azure.com';

function start(oauth: Partial<OAuthOptions> = {}, more: ServerOptions = {}) {
  const trusted = { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true };
  return startServer({ oauth: { ...trusted, ...oauth }, ...more });
}

interface Asking {
  readonly version?: string;
  readonly path?: string;
}

async function askTables(
  { server }: StartedServer,
  token: string,
  { version = '2020-12-06', path = '/Tables' }: Asking = {},
): Promise<WireResponse> {
  const client = WireClient.of(server);
  const headers = { Authorization: `Bearer ${token}`, 'x-ms-version': version };
  return client.send({ path, auth: 'none', headers }).finally(() => client.close());
}

async function askQueues(
  { server }: StartedServer,
  token: string,
  { version = '2021-12-02', path = '/?comp=list' }: Asking = {},
): Promise<WireResponse> {
  const client = QueueWireClient.of(server);
  const headers = { Authorization: `Bearer ${token}` };
  return client.send({ path, auth: 'none', version, headers }).finally(() => client.close());
}

describe('bearer tokens on the wire', () => {
  it('are refused where no issuer is trusted', async () => {
    await using started = await startServer();
    const token = await issuer.token(contributor);
    const table = await askTables(started, token);
    assertFrontDoorError(table, { status: 403, code: 'AuthenticationFailed' });
    assert.match(table.text, /Authentication scheme Bearer is not supported\. Start the server/);
    assert.equal(table.header('www-authenticate'), undefined);
    const queue = await askQueues(started, token);
    assert.equal(queue.status, 403);
    assert.match(
      queue.text,
      /<AuthenticationErrorDetail>Authentication scheme Bearer is not supported\./,
    );
  });

  it('are refused over plain HTTP, unless that is asked for', async () => {
    await using started = await start({ allowHttp: false });
    const token = await issuer.token(contributor);
    const table = await askTables(started, token);
    assertFrontDoorError(table, { status: 403, code: 'AuthenticationFailed' });
    assert.match(table.text, /Authentication scheme Bearer is not allowed with HTTP\./);
    assert.equal((await askQueues(started, token)).status, 403);
    await using lenient = await start();
    assert.equal((await askTables(lenient, token)).status, 200);
    assert.equal((await askQueues(lenient, token)).status, 200);
  });

  it('need a version of the protocol that has them', async () => {
    await using started = await start();
    const token = await issuer.token(contributor);
    const cases = [
      [askTables, '2018-11-09', '2019-02-02'],
      [askQueues, '2017-07-29', '2017-11-09'],
    ] as const;
    for (const [ask, before, since] of cases) {
      const early = await ask(started, token, { version: before });
      assert.equal(early.status, 403);
      assert.match(early.text, /Authentication scheme Bearer is not supported in this version\./);
      assert.equal((await ask(started, token, { version: since })).status, 200);
    }
  });

  it('that prove nothing are answered with a challenge of the issuer', async () => {
    await using started = await start();
    const other = await testIssuer();
    const bad = [
      'x',
      assembled({ alg: 'none' }, { iss: issuer.issuer, ...contributor }),
      await other.token(contributor),
      await issuer.token({ ...contributor, exp: 1 }),
      await issuer.token({ ...contributor, padding: 'x'.repeat(40_000) }),
      '\u00fc\u0001'.repeat(3).replaceAll('\u0001', '~'),
    ];
    for (const token of bad) {
      const table = await askTables(started, token);
      assertFrontDoorError(table, { status: 401, code: 'InvalidAuthenticationInfo' });
      assert.equal(table.header('www-authenticate'), challenge);
      assert.match(table.text, /refer to the information in the www-authenticate header\. \w/);
      const queue = await askQueues(started, token);
      assert.equal(queue.status, 401);
      assert.equal(queue.header('www-authenticate'), challenge);
      assert.match(queue.text, /<Code>InvalidAuthenticationInfo<\/Code>/);
      const early = await askQueues(started, token, { version: '2018-11-09' });
      assert.equal(early.status, 403, 'there were no challenges then');
      assert.match(early.text, /<Code>AuthenticationFailed<\/Code>/);
    }
    assert.deepEqual(started.errors, []);
  });

  it('are asked for by a challenge of the issuer when there is no credential', async () => {
    await using started = await start();
    const tables = WireClient.of(started.server);
    const headers = { 'x-ms-version': '2020-12-06' };
    const response = await tables.send({ auth: 'none', headers });
    tables.close();
    assert.equal(response.status, 401);
    assert.equal(response.header('www-authenticate'), challenge);
  });

  it('are for the account and the service that they name', async () => {
    const key = Buffer.from('a key of one more account').toString('base64');
    const accounts = [
      { name: 'devstoreaccount1', key },
      { name: 'another', key },
    ];
    await using started = await start({}, { accounts });
    const aud = 'https://another.table.core.windows.net';
    const token = await issuer.token({ ...contributor, aud });
    assert.equal((await askTables(started, token)).status, 401);
    assert.equal((await askQueues(started, token)).status, 401);
    const client = new WireClient(started.server.tablePort, 'another', key);
    const headers = { Authorization: `bearer ${token}` };
    assert.equal((await client.send({ auth: 'none', headers })).status, 200);
    client.close();
  });

  it('are in no record and no log, and records say that there was one', async () => {
    const logged: unknown[] = [];
    const note = (message: string, fields?: LogFields) => logged.push([message, fields]);
    const logger = { info: note, warn: note, error: note };
    const jwks = new URL('http://127.0.0.1:1/keys');
    const good = await issuer.token(contributor);
    await using started = await start({}, { logger });
    await using blind = await start({ jwks }, { logger });
    const bad = `${good.slice(0, -4)}AAAA`;
    for (const token of [good, bad]) {
      await askTables(started, token);
      await askTables(blind, token);
    }
    await started.recorded(2);
    await blind.recorded(2);
    const records = [...started.records, ...blind.records];
    assert.deepEqual(
      records.map(({ authKind, status }) => `${authKind} ${status}`),
      ['bearer 200', 'none 401', 'none 503', 'none 503'],
    );
    assert.ok(logged.length > 0);
    const written = JSON.stringify([records, logged], (_name, value: unknown) =>
      value instanceof Error ? `${value.stack} ${String(value.cause)}` : value,
    );
    for (const part of good.split('.')) assert.ok(!written.includes(part.slice(0, 40)));
  });

  it('are answered with 503 while the keys of the issuer cannot be had', async () => {
    await using started = await start({ jwks: new URL('http://127.0.0.1:1/keys') });
    const response = await askTables(started, await issuer.token(contributor));
    assert.equal(response.status, 503);
    assert.equal(response.header('x-ms-error-code'), 'ServerBusy');
    assert.match(response.text, /keys that verify tokens cannot be read/);
    assert.deepEqual(started.errors.length, 1);
  });
});

describe('keys of the issuer', () => {
  it('are taken from a file, and followed when it changes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-oauth-wire-'));
    try {
      const path = join(folder, 'jwks.json');
      const next = await testIssuer({ keyId: 'next' });
      await writeFile(path, JSON.stringify(issuer.jwks));
      await using started = await start({ jwks: path });
      const tokens = [await issuer.token(contributor), await next.token(contributor)] as const;
      assert.equal((await askTables(started, tokens[0])).status, 200);
      assert.equal((await askTables(started, tokens[1])).status, 401);
      await writeFile(`${path}.next`, JSON.stringify(next.jwks));
      await rename(`${path}.next`, path);
      assert.equal((await askTables(started, tokens[1])).status, 200);
      assert.equal((await askTables(started, tokens[0])).status, 401);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('are taken from a URL', async () => {
    const server = createServer((_request, response) => response.end(JSON.stringify(issuer.jwks)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await using started = await start({ jwks: `http://127.0.0.1:${port}/keys` });
      assert.equal((await askQueues(started, await issuer.token(contributor))).status, 200);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('and the other options are checked at the start', async () => {
    const cases: readonly (readonly [Partial<Record<keyof OAuthOptions, unknown>>, RegExp])[] = [
      [
        { jwks: join(tmpdir(), 'absent', 'jwks.json') },
        /oauth\.jwks '.*' cannot be used: it does not exist/,
      ],
      [{ jwks: '' }, /oauth\.jwks must be a file, a URL or a JSON Web Key Set, not ""/],
      [{ jwks: 'http://keys.example/' }, /must be an https: URL, an http: URL of this machine/],
      [{ jwks: 'ftp://127.0.0.1/' }, /must be an https: URL/],
      [{ jwks: { keys: [{ kty: 'oct', k: 'eA' }] } }, /symmetric key/],
      [{ issuer: 'somebody' }, /oauth\.issuer must be a URL/],
      [{ issuer: 'https://x.example/ y' }, /without spaces/],
      [{ issuer: 'https://x.example/\r\nSet-Cookie:a' }, /without spaces/],
      [{ audience: [] }, /oauth\.audience must be a text or a list of at least 1/],
      [{ algorithms: ['none'] }, /oauth\.algorithms\[0\] must be RS256, .*, not "none"/],
      [{ algorithms: ['RS256', 'HS256'] }, /oauth\.algorithms\[1\] must be .*, not "HS256"/],
      [{ algorithms: [] }, /oauth\.algorithms/],
      [{ clockToleranceSeconds: 601 }, /from 0 to 600, not 601/],
      [
        { roles: { Clerk: ['admin'] } },
        /oauth\.roles\.Clerk\[0\] must be read, write or delete, not "admin"/,
      ],
    ];
    for (const [oauth, message] of cases) {
      const all = { issuer: issuer.issuer, jwks: issuer.jwks, ...oauth } as OAuthOptions;
      await assert.rejects(createStorage({ inMemory: true, oauth: all }), (error) => {
        assert.ok(error instanceof ServerOptionsError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
  });
});

describe('official clients with token credentials', () => {
  let started: StartedServer;
  let tlsOptions: { readonly ca: string };
  before(async () => {
    started = await start({ allowHttp: false }, { tls: 'self-signed' });
    tlsOptions = { ca: started.server.certificate ?? '' };
  });
  after(() => started[Symbol.asyncDispose]());

  /** A credential like those of @azure/identity; records the tenants that clients ask for. */
  function credential(claims: object = contributor, tenants: (string | undefined)[] = []) {
    return {
      async getToken(_scopes: string | string[], options: { readonly tenantId?: string } = {}) {
        tenants.push(options.tenantId);
        const token = await issuer.token({ ...claims, jti: tenants.length });
        return { token, expiresOnTimestamp: Date.now() + 3_600_000 };
      },
    };
  }

  it('work with tables over TLS', async () => {
    const { tableEndpoint } = started.server;
    const table = new TableClient(tableEndpoint, 'people', credential(), { tlsOptions });
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: '1', name: 'Ada' });
    await table.submitTransaction([
      ['create', { partitionKey: 'p', rowKey: '2' }],
      ['upsert', { partitionKey: 'p', rowKey: '1', name: 'Grace' }],
    ]);
    const names: unknown[] = [];
    for await (const { rowKey, name } of table.listEntities()) names.push(rowKey, name);
    assert.deepEqual(names, ['1', 'Grace', '2', undefined]);
    await table.deleteEntity('p', '1');
    await assert.rejects(table.getAccessPolicy(), { statusCode: 404 });
    const service = new TableServiceClient(tableEndpoint, credential(), { tlsOptions });
    const tables: unknown[] = [];
    for await (const { name } of service.listTables()) tables.push(name);
    assert.deepEqual(tables, ['people']);
    await table.deleteTable();
  });

  it('work with queues over TLS', async () => {
    const { queueEndpoint } = started.server;
    const pipeline = newPipeline(credential());
    const options = { ...pipeline.options, tlsOptions };
    const service = new QueueServiceClient(queueEndpoint, credential(), options);
    const queue = service.getQueueClient('letters');
    await queue.create({ metadata: { a: 'b' } });
    await queue.sendMessage('by a token');
    const { receivedMessageItems } = await queue.receiveMessages();
    const [message] = receivedMessageItems;
    assert.ok(message);
    assert.equal(message.messageText, 'by a token');
    await queue.deleteMessage(message.messageId, message.popReceipt);
    const names: unknown[] = [];
    for await (const { name } of service.listQueues()) names.push(name);
    assert.deepEqual(names, ['letters']);
    await queue.delete();
  });

  it('are told when a role is missing', async () => {
    const reader = credential({ roles: ['Storage Table Data Reader'] });
    const { tableEndpoint } = started.server;
    const table = new TableClient(tableEndpoint, 'mine', reader, { tlsOptions });
    await assert.rejects(table.createTable(), {
      statusCode: 403,
      message: /AuthorizationPermissionMismatch/,
    });
  });

  it('take the tenant from the challenge, and ask for another token', async () => {
    const tenants: (string | undefined)[] = [];
    let calls = 0;
    const wrongFirst = {
      async getToken(scopes: string | string[], options: { readonly tenantId?: string } = {}) {
        calls += 1;
        const good = credential(contributor, tenants);
        const token = await good.getToken(scopes, options);
        return calls > 1 ? token : { ...token, token: await issuer.token({ iss: 'https://x/' }) };
      },
    };
    const { tableEndpoint } = started.server;
    const service = new TableServiceClient(tableEndpoint, wrongFirst, { tlsOptions });
    await service.createTable('challenged');
    assert.deepEqual(tenants, [undefined, testTenant]);
  });
});
