import assert from 'node:assert/strict';
import { request, type OutgoingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { QueueServiceClient } from '@azure/storage-queue';
import {
  developmentAccount,
  ServerOptionsError,
  type ServerOptions,
} from '../../../src/app/index.js';
import { startServer, type StartedServer } from '../../support/start-server.js';

// The key of the development account is public, so web pages must not be able to use it.

const own = { name: 'own', key: Buffer.from('a key of its own').toString('base64') };
const { name, keys } = developmentAccount;
const development = { name, keys };

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly body: string;
}

function send(
  url: string,
  headers: OutgoingHttpHeaders,
  { method = 'GET', body = '' }: { readonly method?: string; readonly body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (response) => {
      const code = response.headers['x-ms-error-code'];
      text(response).then(
        (answered) =>
          resolve({ status: response.statusCode ?? 0, code: code?.toString(), body: answered }),
        reject,
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

function start(options: ServerOptions = {}): Promise<StartedServer> {
  return startServer({ accounts: [development, own], ...options });
}

/**
 * True when the guard lets a request pass. Without credentials the request is refused afterwards.
 */
async function passes(url: string, headers: OutgoingHttpHeaders): Promise<boolean> {
  const { status, code, body } = await send(url, { 'x-ms-version': '2021-12-02', ...headers });
  assert.ok([401, 403, 404].includes(status), body);
  return code !== 'AuthorizationFailure' && !body.includes('<Code>AuthorizationFailure');
}

const ownHosts = [
  '127.0.0.1:10002',
  '192.168.1.7',
  '[::1]:10002',
  '[fe80::1%25eth0]:10002',
  'localhost',
  'LocalHost:10002',
  'localhost.',
  'devstoreaccount1.localhost:10002',
  'devstoreaccount1.table.localhost:10002',
  'devstoreaccount1.table.core.windows.net',
  'host.docker.internal:10002',
  'storage:10002',
  'my_project-storage_1:10002',
  'storage.default.svc.cluster.local',
];
const strangeHosts = [
  'evil.com',
  'evil.com:10002',
  'devstoreaccount1.com',
  'localhost.evil.com',
  'core.windows.net.evil.com',
  '127.0.0.1.evil.com',
  'local.evil.com.',
  'evil.com%25.localhost.evil.com',
];

describe('an account with a public key', () => {
  it('answers to the names that no stranger can have, and to those that are allowed', async () => {
    await using started = await start();
    await using open = await start({ allowHosts: ['Storage.Example.org', '.corp.net'] });
    await using any = await start({ allowHosts: ['*'] });
    const closed = started.server.tableEndpoint;
    for (const Host of ownHosts) assert.ok(await passes(`${closed}/Tables`, { Host }), Host);
    for (const Host of strangeHosts) {
      assert.ok(!(await passes(`${closed}/Tables`, { Host })), Host);
      assert.ok(!(await passes(`${started.server.queueEndpoint}?comp=list`, { Host })), Host);
      assert.ok(await passes(`${any.server.tableEndpoint}/Tables`, { Host }), Host);
    }
    for (const [Host, isLetIn] of [
      ['storage.example.org:10002', true],
      ['a.corp.net', true],
      ['a.b.corp.net', true],
      ['corp.net', false],
      ['evilcorp.net', false],
      ['x.storage.example.org', false],
    ] as const) {
      assert.equal(await passes(`${open.server.tableEndpoint}/Tables`, { Host }), isLetIn, Host);
    }
  });

  it('says which option lets a name in, and answers no preflight under it', async () => {
    await using started = await start();
    const url = `${started.server.tableEndpoint}/Tables`;
    const { status, body } = await send(url, { Host: 'storage.corp.net:1' });
    assert.equal(status, 403);
    assert.match(body, /--allow-host storage\.corp\.net \(in a program: allowHosts\)/);
    const headers = {
      Host: 'evil.com',
      Origin: 'http://evil.com',
      'Access-Control-Request-Method': 'GET',
    };
    assert.match((await send(url, headers, { method: 'OPTIONS' })).body, /--allow-host evil\.com/);
    assert.equal((await send(new URL('/healthz', url).href, { Host: 'evil.com' })).status, 200);
  });

  it('is one whatever it is called; an account with a key of its own is none', async () => {
    const [key = ''] = keys;
    await using started = await start({
      accounts: [{ name: 'renamed', keys: [own.key, key] }, own],
    });
    const { origin } = new URL(started.server.tableEndpoint);
    const headers = { Host: 'evil.com', Origin: 'http://evil.com', 'Sec-Fetch-Site': 'cross-site' };
    assert.ok(!(await passes(`${origin}/renamed/Tables`, { Host: 'evil.com' })));
    assert.ok(await passes(`${origin}/own/Tables`, headers));
    await started.server.reload({ accounts: [own, development] });
    assert.ok(!(await passes(`${origin}/devstoreaccount1/Tables`, { Host: 'evil.com' })));
  });

  it('gives and takes nothing by simple requests of pages of other origins', async () => {
    await using started = await start();
    const { server } = started;
    const service = QueueServiceClient.fromConnectionString(server.connectionString());
    const queue = service.getQueueClient('work');
    await queue.create();
    await queue.sendMessage('kept');
    const sas = new URL(service.generateAccountSasUrl()).search;
    const url = `${server.queueEndpoint}/work/messages${sas}`;
    const body = '<QueueMessage><MessageText>sent</MessageText></QueueMessage>';
    const pages: readonly OutgoingHttpHeaders[] = [
      { Origin: 'http://evil.com' },
      { Origin: 'null' },
      { Origin: 'http://localhost:3000', 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
    ];
    for (const page of pages) {
      assert.equal((await send(url, page)).status, 403);
      const put = await send(
        url,
        { ...page, 'Content-Type': 'text/plain' },
        { method: 'POST', body },
      );
      assert.equal(put.status, 403, put.body);
      assert.match(put.body, /CORS rules/);
    }
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 9 });
    assert.deepEqual(
      peekedMessageItems.map(({ messageText, dequeueCount }) => [messageText, dequeueCount]),
      [['kept', 0]],
    );
    const peek = `${url}&peekonly=true`;
    for (const programs of [{}, { 'Sec-Fetch-Site': 'none' }]) {
      assert.equal((await send(peek, programs)).status, 200);
    }
    assert.equal((await send(peek, { Origin: new URL(url).origin })).status, 200, 'its own pages');
    const rule = { allowedHeaders: '*', exposedHeaders: '*', maxAgeInSeconds: 0 };
    const allow = (allowedOrigins: string) =>
      service.setProperties({ cors: [{ ...rule, allowedOrigins, allowedMethods: 'GET' }] });
    await allow('http://a.example');
    assert.equal((await send(peek, { Origin: 'http://a.example' })).status, 200);
    assert.equal((await send(peek, { Origin: 'http://b.example' })).status, 403);
    assert.equal((await send(peek, { 'Sec-Fetch-Site': 'cross-site' })).status, 403);
    await allow('*');
    assert.equal((await send(peek, { 'Sec-Fetch-Site': 'cross-site' })).status, 200);
    assert.equal((await send(url, pages[0] ?? {}, { method: 'POST', body })).status, 403);
  });

  it('is not started with hosts that are none', async () => {
    for (const host of ['http://a.example', 'a.example:1', '', '*.a.example', 'a b']) {
      await assert.rejects(start({ allowHosts: [host] }), ServerOptionsError);
    }
  });
});
