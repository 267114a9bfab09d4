import assert from 'node:assert/strict';
import { request } from 'node:http';
import { describe, it } from 'node:test';
import { manualClock } from '../../../src/app/index.js';
import { testIssuer } from '../../support/oauth-issuer.js';
import { acceptMinimal } from '../kit/client.js';
import { messageBody, QueueWireClient } from '../kit/queue-client.js';
import { queueSas, tableSas, withSas } from '../kit/sas.js';
import { startFixture } from '../kit/server.js';
import { authorizationOf, developmentAccount, developmentKey } from '../kit/signature.js';

// Requests whose credentials are valid when the header arrives, and are revoked before the body
// arrives. The 100-continue response shows that the header was accepted.

const spareKey = Buffer.from('a key that is taken away').toString('base64');
const accounts = [{ name: developmentAccount, keys: [developmentKey, spareKey] }];
const issuer = await testIssuer();
const clock = manualClock(Date.now() * 1000);
const { server, client } = await startFixture({
  accounts,
  clock,
  oauth: { issuer: issuer.issuer, jwks: issuer.jwks, allowHttp: true },
});
const queues = QueueWireClient.of(server);

interface SlowRequest {
  readonly port: number;
  readonly method?: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends the header, runs `meanwhile`, then sends the body; returns the status and text of the
 * response.
 */
function slowly(given: SlowRequest, meanwhile: () => Promise<unknown>): Promise<[number, string]> {
  const { port, method = 'POST', target, headers = {}, body } = given;
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      method,
      path: target,
      headers: { ...headers, Expect: '100-continue', 'Content-Length': Buffer.byteLength(body) },
    });
    sent.on('error', reject);
    sent.on('continue', () => void meanwhile().then(() => sent.end(body), reject));
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve([response.statusCode ?? 0, text]));
    });
    sent.flushHeaders();
  });
}

const json = {
  'Content-Type': 'application/json',
  Accept: acceptMinimal,
  'x-ms-version': '2021-12-02',
};
const entity = (RowKey: string): string => JSON.stringify({ PartitionKey: 'p', RowKey });
const policy = (permission: string): string =>
  `<SignedIdentifiers><SignedIdentifier><Id>it</Id><AccessPolicy><Permission>${permission}` +
  '</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>';

async function tableWithPolicy(): Promise<string> {
  const table = await client.newTable('slow');
  await setPolicy(table, policy('raud'));
  return table;
}

async function setPolicy(table: string, body: string): Promise<void> {
  const path = `/${table}?comp=acl`;
  const { status, text } = await client.send({ method: 'PUT', path, body });
  assert.equal(status, 204, text);
}

function insertWithPolicy(table: string): SlowRequest {
  const target = withSas(`/${developmentAccount}/${table}`, tableSas({ tn: table, si: 'it' }));
  return { port: server.tablePort, target, headers: json, body: entity('late') };
}

describe('a request whose body comes later', () => {
  it('is served when nothing has changed', async () => {
    const table = await tableWithPolicy();
    const [status, text] = await slowly(insertWithPolicy(table), () => Promise.resolve());
    assert.equal(status, 201, text);
  });

  it('changes nothing when its policy has been taken away', async () => {
    const table = await tableWithPolicy();
    const [status, text] = await slowly(insertWithPolicy(table), () =>
      setPolicy(table, '<SignedIdentifiers/>'),
    );
    assert.equal(status, 403, text);
    assert.match(text, /AuthenticationFailed/);
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('changes nothing when its policy allows less', async () => {
    const table = await tableWithPolicy();
    const [status, text] = await slowly(insertWithPolicy(table), () =>
      setPolicy(table, policy('r')),
    );
    assert.equal(status, 403, text);
    assert.match(text, /AuthorizationPermissionMismatch/);
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('changes nothing in another table of the name', async () => {
    const table = await tableWithPolicy();
    const [status, text] = await slowly(insertWithPolicy(table), async () => {
      await client.send({ method: 'DELETE', path: `/Tables('${table}')` });
      await client.createTable(table);
    });
    assert.equal(status, 403, text);
    assert.deepEqual(await client.rowKeys(table), []);
  });

  it('changes no queue whose policy has been taken away', async () => {
    const queue = await queues.newQueue('slow');
    const path = `/${queue}?comp=acl`;
    await queues.expect(204, { method: 'PUT', path, body: policy('a') });
    const target = withSas(
      `/${developmentAccount}/${queue}/messages`,
      queueSas(queue, { si: 'it' }),
    );
    const given = { port: server.queuePort, target, body: messageBody('late') };
    const [status, text] = await slowly(given, () =>
      queues.expect(204, { method: 'PUT', path, body: '' }),
    );
    assert.equal(status, 403, text);
    assert.deepEqual(await queues.texts(queue), []);
  });

  it('changes nothing when the key that signed it has been taken away', async () => {
    const table = await client.newTable('slow');
    const target = `/${developmentAccount}/${table}`;
    const date = new Date(clock.nowMicros() / 1000).toUTCString();

    const headers = {
      ...json,
      'x-ms-date': date,
      Authorization: authorizationOf({
        method: 'POST',
        target,
        date,
        contentType: json['Content-Type'],
        scheme: 'SharedKeyLite',
        account: developmentAccount,
        key: spareKey,
      }),
    };
    const given = { port: server.tablePort, target, headers, body: entity('late') };
    const [before, shown] = await slowly(given, () => server.reload({ accounts }));
    assert.equal(before, 201, shown);
    const one = [{ name: developmentAccount, keys: [developmentKey] }];
    const later = { ...given, body: entity('later') };
    const [status, text] = await slowly(later, () => server.reload({ accounts: one }));
    assert.equal(status, 403, text);
    assert.deepEqual(await client.rowKeys(table), ['late']);
    await server.reload({ accounts });
  });

  it('changes nothing when its token has expired', async () => {
    const table = await client.newTable('slow');
    const now = Math.floor(clock.nowMicros() / 1e6);
    const token = await issuer.token({
      exp: now + 60,
      roles: ['Storage Table Data Contributor'],
    });
    const headers = { ...json, Authorization: `Bearer ${token}` };
    const target = `/${developmentAccount}/${table}`;
    const given = { port: server.tablePort, target, headers, body: entity('late') };
    const [status, text] = await slowly(given, () => {
      clock.advanceMicros(61e6);
      return Promise.resolve();
    });
    assert.equal(status, 401, text);
    assert.deepEqual(await client.rowKeys(table), []);
  });
});
