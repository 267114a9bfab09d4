import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, describe, it } from 'node:test';
import { TableServiceClient } from '@azure/data-tables';
import { endpointOf, startCli, stopCli, temporaryDirectory } from '../../support/cli-server.js';
import { startServer } from '../../support/start-server.js';
import { WireClient } from '../kit/client.js';
import { assertFrontDoorError, assertJsonError, assertQueueError } from '../kit/errors.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { QueueWireClient } from '../kit/queue-client.js';
import type { Headers } from '../kit/request-bytes.js';
import type { WireResponse } from '../kit/response.js';
import { costly } from '../../support/run-length.js';

// queue-service §10, blob-service §19 and table-service §11 by raw requests: the access of pages
// from other origins. For the public key further rules hold:
// test/wire/auth/public-key-guard.test.ts.

// With the public key other rules hold as well: test/wire/auth/public-key-guard.test.ts.
const own = { name: 'devstoreaccount1', key: Buffer.from('a key of its own').toString('base64') };
const started = await startServer({ accounts: [own] });
const { server, records } = started;
const tables = new WireClient(server.tablePort, own.name, own.key);
const queues = new QueueWireClient(server.queuePort, { account: own.name, key: own.key });
const blobs = new BlobWireClient(server.blobPort, { account: own.name, key: own.key });
const table = await tables.newTable();
const queue = await queues.newQueue();
const container = await blobs.newContainer();
const stored = {
  method: 'PUT',
  path: `/${container}/readable`,
  headers: { 'x-ms-blob-type': 'BlockBlob' },
  body: 'x',
};
await blobs.expect(201, stored);
after(async () => {
  tables.close();
  queues.close();
  blobs.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});

const page = 'http://page.example';
const account = 'devstoreaccount1';

function ruleXml({
  origins = page,
  methods = 'GET,HEAD,POST,PUT,DELETE,MERGE',
  headers = 'x-ms-*,content-type',
  exposed = '',
  age = 60,
}): string {
  return (
    `<CorsRule><AllowedOrigins>${origins}</AllowedOrigins>` +
    `<AllowedMethods>${methods}</AllowedMethods><MaxAgeInSeconds>${age}</MaxAgeInSeconds>` +
    `<ExposedHeaders>${exposed}</ExposedHeaders><AllowedHeaders>${headers}</AllowedHeaders></CorsRule>`
  );
}

type Client = WireClient | QueueWireClient | BlobWireClient;

async function setRules(client: Client, ...rules: readonly string[]): Promise<void> {
  const body = `<StorageServiceProperties><Cors>${rules.join('')}</Cors></StorageServiceProperties>`;
  const path = '/?restype=service&comp=properties';
  const { status, text } = await client.send({ method: 'PUT', path, body });
  assert.equal(status, 202, text);
}

/** The response headers that browsers use, by lower-case name. */
function shown(response: WireResponse): Record<string, string> {
  const names = response.headers.map(([name]) => name.toLowerCase());
  const wanted = names.filter((name) => name.startsWith('access-control-') || name === 'vary');
  return Object.fromEntries(wanted.map((name) => [name, response.header(name) ?? '']));
}

const services = [
  {
    name: 'tables',
    client: tables,
    operation: 'PreflightTableRequest',
    readable: `/${table}()`,
    missing: "/nothing(PartitionKey='p',RowKey='r')",
    odd: ['/', '/Tables', `/${table}(PartitionKey='`, '/%zz', '/a/b/c', '/$batch', '/x?a=%zz'],
    refused: assertFrontDoorError,
  },
  {
    name: 'queues',
    client: queues,
    operation: 'QueuePreflightRequest',
    readable: `/${queue}/messages?peekonly=true`,
    missing: '/nothing-here?comp=metadata',
    odd: ['/', `/${queue}`, '//', '/UPPER', '/%zz', '/a/b/c/d', '/x?timeout=never', '/x?comp=no'],
    refused: assertQueueError,
  },
  {
    name: 'blobs',
    client: blobs,
    operation: 'BlobPreflightRequest',
    readable: stored.path,
    missing: `/${container}/nothing-here`,
    odd: ['/', `/${container}`, '//', '/UPPER/x', '/%zz', '/x?timeout=never', '/c/b?comp=no'],
    refused: assertQueueError,
  },
] as const;

for (const { name, client, operation, readable, missing, odd, refused } of services) {
  const preflight = (headers: Headers, path: string = readable) =>
    client.send({
      method: 'OPTIONS',
      path,
      auth: 'none',
      headers: { 'x-ms-version': undefined, ...headers },
    });
  const ask = (method: string, headers?: string, origin = page) =>
    preflight({
      Origin: origin,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': headers,
    });
  const denied = {
    status: 403,
    code: 'CorsPreflightFailure',
    message: 'CORS not enabled or no matching rule found for this request.',
  };

  describe(`a preflight of ${name}`, () => {
    it('is refused as long as there are no rules', async () => {
      await setRules(client);
      refused(await ask('GET'), denied);
    });

    it('is answered without a credential, a body or a version', async () => {
      await setRules(client, ruleXml({ age: 77 }));
      const before = records.length;
      const response = await ask('PUT', 'x-ms-date,Content-Type');
      assert.deepEqual([response.status, response.text], [200, '']);
      assert.deepEqual(shown(response), {
        'access-control-allow-origin': page,
        'access-control-allow-methods': 'PUT',
        'access-control-allow-headers': 'x-ms-date,Content-Type',
        'access-control-max-age': '77',
        'access-control-allow-credentials': 'true',
      });
      assert.equal(response.header('x-ms-version'), undefined);
      assert.equal(response.header('content-length'), '0');
      assert.match(response.header('x-ms-request-id') ?? '', /^[0-9a-f-]{36}$/);
      await started.recorded(before + 1);
      const id = response.header('x-ms-request-id');
      const record = records.find(({ requestId }) => requestId === id);
      assert.deepEqual(
        [record?.operation, record?.status, record?.authKind, record?.account],
        [operation, 200, 'none', account],
      );
    });

    it('allows no headers that are not asked for', async () => {
      assert.equal((await ask('GET')).header('access-control-allow-headers'), undefined);
    });

    it('is answered on any path, whether anything is there or not', async () => {
      for (const path of [missing, ...odd]) {
        const headers = { Origin: page, 'Access-Control-Request-Method': 'GET' };
        assert.equal((await preflight(headers, path)).status, 200, path);
      }
    });

    it('is answered at the secondary endpoint', async () => {
      const response = await client.send({
        method: 'OPTIONS',
        target: `/${account}-secondary/x`,
        auth: 'none',
        headers: { Origin: page, 'Access-Control-Request-Method': 'PUT' },
      });
      assert.equal(response.status, 200);
    });

    it('needs no credential, so one that is wrong does no harm', async () => {
      const Authorization = `SharedKey ${account}:AAAA`;
      const headers = { Origin: page, 'Access-Control-Request-Method': 'GET', Authorization };
      assert.equal((await preflight(headers)).status, 200);
      assert.equal((await preflight(headers, '/x?sv=2019-02-02&sig=A&sig=B')).status, 200);
    });

    for (const [left, headers] of [
      ['Origin', { 'Access-Control-Request-Method': 'GET' }],
      ['Access-Control-Request-Method', { Origin: page }],
    ] as const) {
      it(`without ${left} is 400 InvalidHeaderValue`, async () => {
        refused(await preflight(headers), {
          status: 400,
          code: 'InvalidHeaderValue',
          message: 'A required CORS header is not present.',
        });
      });
    }

    it('of an unknown account is 404', async () => {
      const headers = { Origin: page, 'Access-Control-Request-Method': 'GET' };
      const target = '/nobody/x';
      const response = await client.send({ method: 'OPTIONS', target, auth: 'none', headers });
      assert.equal(response.status, 404);
      assert.deepEqual(shown(response), {});
    });

    it('is refused for another origin, method or header', async () => {
      for (const response of [
        await ask('GET', undefined, 'http://other.example'),
        await ask('GET', undefined, 'HTTP://page.example'),
        await ask('PATCH'),
        await ask('put'),
        await ask('PUT', 'x-ms-date,if-match'),
        await ask('PUT', 'x-m'),
      ]) {
        refused(response, denied);
        assert.deepEqual(shown(response), {});
      }
    });

    it('is decided by the first rule with origin and method, not by a later one', async () => {
      const strict = ruleXml({ headers: 'x-ms-date', methods: 'GET', age: 1 });
      const broad = ruleXml({ origins: '*', headers: '*', age: 2 });
      await setRules(client, strict, broad);
      assert.equal((await ask('GET', 'X-MS-Date')).header('access-control-max-age'), '1');
      refused(await ask('GET', 'if-match'), denied);
      const others = await ask('GET', 'if-match', 'http://other.example');
      assert.equal(others.header('access-control-max-age'), '2');
      assert.equal(others.header('access-control-allow-origin'), 'http://other.example');
      assert.equal((await ask('PUT', 'if-match')).header('access-control-max-age'), '2');
    });
  });

  describe(`an answer of ${name}`, () => {
    const send = (path: string, headers: Headers = {}, method = 'GET') =>
      client.send({ method, path, headers });
    /** The challenge depends on the version that the client sends. */
    const unknownCaller = name === 'tables' ? 403 : 401;
    const credentials = { 'access-control-allow-credentials': 'true' };
    const vary = { vary: 'Origin' };
    const toPage = { 'access-control-allow-origin': page, ...credentials };

    it('is not held against the headers that a rule allows', async () => {
      await setRules(client, ruleXml({ headers: '' }));
      assert.deepEqual(shown(await send(readable, { Origin: page })), { ...toPage, ...vary });
    });

    it('says nothing where there are no rules', async () => {
      await setRules(client);
      assert.deepEqual(shown(await send(readable, { Origin: page })), {});
      assert.deepEqual(shown(await send(readable)), {});
    });

    it('names a listed origin, and varies by it', async () => {
      await setRules(client, ruleXml({ exposed: 'etag,x-ms-re*,x-ms-v*' }));
      const response = await send(readable, { Origin: page });
      assert.equal(response.status, 200);
      const { 'access-control-expose-headers': exposed, ...others } = shown(response);
      assert.deepEqual(others, { ...toPage, ...vary });
      assert.equal(exposed, 'etag,x-ms-request-id,x-ms-version');
    });

    it('is served to other origins and to nobody, and varies', async () => {
      for (const headers of [{ Origin: 'http://other.example' }, {}]) {
        const response = await send(readable, headers);
        assert.equal(response.status, 200);
        assert.deepEqual(shown(response), vary);
      }
    });

    it('does not vary where the method is neither GET nor HEAD', async () => {
      for (const origin of [page, 'http://other.example', undefined]) {
        const response = await send('/nothing-there', { Origin: origin }, 'DELETE');
        assert.ok(response.status >= 400);
        const { 'access-control-expose-headers': _exposed, ...others } = shown(response);
        assert.deepEqual(others, origin === page ? toPage : {});
      }
    });

    it('is for anybody where a rule says so, even without an origin', async () => {
      await setRules(client, ruleXml({ origins: '*', methods: 'GET', exposed: 'x-ms-request-id' }));
      const any = {
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'x-ms-request-id',
      };
      assert.deepEqual(shown(await send(readable, { Origin: page })), any);
      assert.deepEqual(shown(await send(readable, { Origin: 'null' })), any);
      assert.deepEqual(shown(await send(readable)), any);
    });

    it('shows refusals of every kind to the page', async () => {
      await setRules(client, ruleXml({}));
      const Origin = page;
      for (const [status, response] of [
        [404, await send(missing, { Origin })],
        [403, await send(readable, { Origin, Authorization: `SharedKey ${account}:AAAA` })],
        [unknownCaller, await client.send({ path: readable, auth: 'none', headers: { Origin } })],
        [400, await send(readable, { Origin, 'x-ms-version': 'newest' })],
        [400, await send(`${readable}${readable.includes('?') ? '&' : '?'}timeout=x`, { Origin })],
      ] as const) {
        assert.equal(response.status, status, response.text);
        assert.deepEqual(shown(response), { ...toPage, ...vary });
      }
      const unsupported = await send('/', { Origin }, 'PATCH');
      assert.ok(unsupported.status >= 400);
      assert.deepEqual(shown(unsupported), {});
    });

    it('of another service or account has nothing from these rules', async () => {
      const other = name === 'tables' ? queues : tables;
      await setRules(other);
      assert.deepEqual(shown(await other.send({ headers: { Origin: page } })), {});
      const unknown = await client.send({ target: '/nobody/x', headers: { Origin: page } });
      assert.equal(unknown.status, 404);
      assert.deepEqual(shown(unknown), {});
    });
  });
}

describe('a refused preflight of queues', () => {
  it('says why', async () => {
    const reasonFor = async (headers: Headers, ...rules: string[]) => {
      await setRules(queues, ...rules);
      const response = await queues.send({ method: 'OPTIONS', auth: 'none', headers });
      const denied = { status: 403, code: 'CorsPreflightFailure' };
      return assertQueueError(response, denied);
    };
    const asked = { Origin: page, 'Access-Control-Request-Method': 'GET' };
    assert.match(String(await reasonFor(asked)), /^Reason,The service has no rules/);
    const other = ruleXml({ methods: 'PUT' });
    assert.match(String(await reasonFor(asked, other)), /^Reason,No rule has both/);
    const more = { ...asked, 'Access-Control-Request-Headers': 'a' };
    assert.match(String(await reasonFor(more, ruleXml({}))), /^Reason,The first rule.* headers/);
  });
});

describe('refusals of tables', () => {
  it('keep their shape, and show 409 and 412 to the page', async () => {
    await setRules(tables, ruleXml({ exposed: 'x-ms-error-code' }));
    const entity = { PartitionKey: 'p', RowKey: 'r' };
    await tables.put(table, entity);
    const again = await tables.insert(table, entity, { Origin: page });
    assertJsonError(again, { status: 409, code: 'EntityAlreadyExists' });
    assert.equal(again.header('access-control-allow-origin'), page);
    const path = `/${table}(PartitionKey='p',RowKey='r')`;
    const stale = `W/"datetime'2020-01-01T00%3A00%3A00.0000000Z'"`;
    const headers = { Origin: page, 'If-Match': stale };
    const late = await tables.send({ method: 'MERGE', path, body: '{"A":1}', headers });
    assert.equal(late.status, 412);
    assert.equal(late.header('access-control-allow-origin'), page);
  });
});

describe('a method that is tunnelled through POST', () => {
  it('is POST to rules about origins, as it is to browsers', async () => {
    const path = `/${table}(PartitionKey='p',RowKey='tunnelled')`;
    const headers = { Origin: page, 'X-HTTP-Method': 'MERGE' };
    const merge = () => tables.send({ method: 'POST', path, body: '{"A":1}', headers });
    await setRules(tables, ruleXml({ methods: 'POST' }));
    assert.equal((await merge()).header('access-control-allow-origin'), page);
    await setRules(tables, ruleXml({ methods: 'MERGE' }));
    const hidden = await merge();
    assert.deepEqual([hidden.status, shown(hidden)], [204, {}]);
  });
});

describe('rules of a server that is reset', () => {
  it('are gone at once, also for requests without an origin', async () => {
    await using fresh = await startServer({ accounts: [own] });
    const client = new WireClient(fresh.server.tablePort, own.name, own.key);
    await setRules(client, ruleXml({}));
    const shownTo = async (headers: Headers) => shown(await client.send({ headers }));
    assert.deepEqual(await shownTo({}), { vary: 'Origin' });
    assert.ok('access-control-allow-origin' in (await shownTo({ Origin: page })));
    await fresh.server.reset();
    assert.deepEqual([await shownTo({}), await shownTo({ Origin: page })], [{}, {}]);
    client.close();
  });
});

describe('rules of a server of several processes', () => {
  it('decide about the next request of a page, whichever process it meets', costly(), async () => {
    await using directory = await temporaryDirectory();
    const cli = await startCli(['--location', directory.path, '--workers', '2']);
    const { port } = endpointOf(cli);
    // Connections are shared out among the processes.
    const clients = Array.from({ length: 8 }, () => new WireClient(Number(port)));
    const [owner = tables] = clients;
    const allowed = async (): Promise<Set<string | undefined>> => {
      const answers = clients.map((client) => client.send({ headers: { Origin: page } }));
      return new Set(shownOrigins(await Promise.all(answers)));
    };
    assert.deepEqual(await allowed(), new Set([undefined]));
    for (let round = 0; round < 5; round += 1) {
      await setRules(owner, ruleXml({}));
      assert.deepEqual(await allowed(), new Set([page]));
      await setRules(owner);
      assert.deepEqual(await allowed(), new Set([undefined]));
    }
    for (const client of clients) client.close();
    assert.equal(await stopCli(cli), 0);
  });
});

function shownOrigins(answers: readonly WireResponse[]): (string | undefined)[] {
  return answers.map((answer) => answer.header('access-control-allow-origin'));
}

describe('rules over TLS', () => {
  it('are the same', async () => {
    await using secure = await startServer({ tls: 'self-signed' });
    const service = TableServiceClient.fromConnectionString(secure.server.connectionString(), {
      tlsOptions: { ca: secure.server.certificate ?? '' },
    });
    await service.setProperties({
      cors: [
        {
          allowedOrigins: 'https://page.example',
          allowedMethods: 'PUT',
          allowedHeaders: '*',
          exposedHeaders: '',
          maxAgeInSeconds: 5,
        },
      ],
    });
    const headers = {
      Origin: 'https://page.example',
      'Access-Control-Request-Method': 'PUT',
      'Access-Control-Request-Headers': 'x-ms-date',
    };
    const options = {
      method: 'OPTIONS',
      path: `/${account}/any`,
      port: secure.server.tablePort,
      ca: secure.server.certificate,
      headers,
    };
    const response = await new Promise<Record<string, unknown>>((resolve, reject) => {
      const sent = request(options, (answer) => {
        answer.resume();
        resolve({ status: answer.statusCode, ...answer.headers });
      });
      sent.on('error', reject);
      sent.end();
    });
    assert.equal(response['status'], 200);
    assert.equal(response['access-control-allow-origin'], 'https://page.example');
    assert.equal(response['access-control-max-age'], '5');
  });
});
