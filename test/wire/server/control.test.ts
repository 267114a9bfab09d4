import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, afterEach, describe, it } from 'node:test';
import { createServer, ListenError } from '../../../src/app/index.js';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import { WireClient } from '../kit/client.js';

const started = await startServer({ controlPort: 0 });
const { server, records } = started;
const client = WireClient.of(server);
const blobs = BlobWireClient.of(server);
const port = server.controlPort ?? 0;

after(async () => {
  client.close();
  blobs.close();
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});
afterEach(() => {
  server.faults.clear();
  server.throttle.set('off');
});

interface Answer {
  readonly status: number;
  readonly allow: string | undefined;
  readonly json: Readonly<Record<string, unknown>>;
}

interface Asked {
  readonly body?: unknown;
  /** Sent as it is. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask(method: string, path: string, { body, text, headers }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const json = JSON.parse(Buffer.concat(chunks).toString()) as Answer['json'];
        resolve({ status: response.statusCode ?? 0, allow: response.headers.allow, json });
      });
    });
    sent.on('error', reject);
    sent.end(text ?? (body === undefined ? undefined : JSON.stringify(body)));
  });
}

const busy = { operation: 'QueryTables', effect: { kind: 'error', code: 'ServerBusy' } };
const asked = async () => (await client.send({ path: '/Tables' })).status;

describe('the control API', () => {
  it('listens on 127.0.0.1 alone, and only when it is asked for', async () => {
    await using silent = await createServer({ inMemory: true });
    assert.equal(silent.controlPort, undefined);
    await using wide = await createServer({ inMemory: true, host: '0.0.0.0', controlPort: 0 });
    const other = await new Promise((resolve) => {
      const sent = request({ host: '127.0.0.2', port: wide.controlPort, path: '/status' });
      sent.on('response', () => resolve('answered'));
      sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      sent.end();
    });
    assert.equal(other, 'ECONNREFUSED');
  });

  it('adds, shows, replaces and removes fault rules, which hold at once', async () => {
    const added = await ask('POST', '/faults', { body: busy });
    assert.equal(added.status, 201);
    assert.equal(added.json['name'], 'fault-1');
    assert.equal(await asked(), 503);
    const shown = await ask('GET', '/faults/fault-1');
    assert.deepEqual([shown.json['matched'], shown.json['fired']], [1, 1]);
    const rules = [{ ...busy, name: 'second', count: 1 }];
    const replaced = await ask('PUT', '/faults', { body: rules });
    const names = (replaced.json['faults'] as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(names, ['second']);
    assert.deepEqual([await asked(), await asked()], [503, 200]);
    assert.equal((await ask('DELETE', '/faults/second')).status, 200);
    assert.equal((await ask('GET', '/faults/second')).status, 404);
    assert.equal((await ask('DELETE', '/faults')).status, 200);
    assert.equal(await asked(), 200);
  });

  it('shows and sets limits', async () => {
    const body = { requestsPerSecondPerAccount: 1 };
    const set = await ask('PUT', '/throttle', { body });
    assert.deepEqual(set.json, { throttle: body, refused: 0 });
    assert.deepEqual([await asked(), await asked()], [200, 503]);
    assert.deepEqual((await ask('GET', '/throttle')).json, { throttle: body, refused: 1 });
    assert.equal((await ask('PUT', '/throttle', { body: 'off' })).status, 200);
    assert.equal(await asked(), 200);
  });

  it('resets, and takes, lists, restores and forgets snapshots', async () => {
    await client.newTable('kept');
    const path = `/${await blobs.newContainer()}/b`;
    const headers = { 'x-ms-blob-type': 'BlockBlob' };
    const large = { method: 'PUT', path, headers, body: 'x'.repeat(1024 * 1024) };
    const etag = (await blobs.expect(201, large)).header('etag');
    assert.equal((await ask('PUT', '/snapshots/one')).status, 200);
    await blobs.expect(201, { ...large, body: 'y' });
    assert.equal((await ask('POST', '/reset')).status, 200);
    const tables = async () => (await client.send({ path: '/Tables' })).items.length;
    assert.equal(await tables(), 0);
    await blobs.expect(404, { path });
    assert.equal((await ask('POST', '/snapshots/one/restore')).status, 200);
    assert.equal(await tables(), 1);
    const back = await blobs.expect(200, { path });
    assert.deepEqual([back.header('etag'), back.text], [etag, large.body]);
    const listed = (await ask('GET', '/snapshots')).json['snapshots'] as { name: string }[];
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['one'],
    );
    assert.equal((await ask('DELETE', '/snapshots/one')).status, 200);
    const gone = await ask('POST', '/snapshots/one/restore');
    assert.deepEqual(
      [gone.status, gone.json['error']],
      [404, "There is no snapshot 'one'; there is none."],
    );
    assert.equal((await ask('PUT', '/snapshots/no%20name')).status, 400);
  });

  it('tells what the server is', async () => {
    const { json } = await ask('GET', '/status');
    assert.equal(json['tables'], server.tableEndpoint);
    assert.equal(json['queues'], server.queueEndpoint);
    assert.equal(json['blobs'], server.blobEndpoint);
    assert.deepEqual(json['accounts'], ['devstoreaccount1']);
    assert.deepEqual([json['faults'], json['throttle'], json['inFlight']], [0, 'off', 0]);
    assert.ok(!JSON.stringify(json).includes('Eby8'));
  });

  it('makes no record of its own requests', async () => {
    const before = records.length;
    await ask('GET', '/status');
    assert.equal(records.length, before);
  });
});

describe('the control API refuses', () => {
  const rule = JSON.stringify(busy);
  const refused: readonly [
    what: string,
    send: () => Promise<Answer>,
    status: number,
    says: RegExp,
  ][] = [
    [
      'a page of a browser',
      () => ask('POST', '/faults', { text: rule, headers: { Origin: 'http://localhost:3000' } }),
      403,
      /Origin/,
    ],
    [
      'a page that hides its origin',
      () => ask('POST', '/reset', { headers: { Origin: 'null' } }),
      403,
      /Origin/,
    ],
    [
      'a link on a page',
      () => ask('GET', '/status', { headers: { 'Sec-Fetch-Site': 'cross-site' } }),
      403,
      /browser/,
    ],
    [
      'a name that was made to point here',
      () => ask('POST', '/reset', { headers: { Host: `rebound.example:${port}` } }),
      403,
      /Host/,
    ],
    [
      'an address of the network',
      () => ask('POST', '/reset', { headers: { Host: '127.0.0.1.example' } }),
      403,
      /Host/,
    ],
    [
      'JSON that is nested too deep',
      () => ask('POST', '/faults', { text: '['.repeat(500_000) }),
      400,
      /nested 64 levels deep at most/,
    ],
    [
      'JSON that is nested too deep, with brackets in its strings',
      () => ask('POST', '/faults', { text: `${'["]",'.repeat(9000)}1${']'.repeat(9000)}` }),
      400,
      /nested 64 levels deep at most/,
    ],
    ['no JSON', () => ask('POST', '/faults', { text: '{' }), 400, /must be JSON/],
    ['a rule without a body', () => ask('POST', '/faults'), 400, /rule must be an object/],
    [
      'limits without a body',
      () => ask('PUT', '/throttle'),
      400,
      /throttle must be azure, off or an object/,
    ],
    ['one rule for all', () => ask('PUT', '/faults', { text: rule }), 400, /list of rules/],
    [
      'a rule that is wrong',
      () => ask('PUT', '/faults', { body: [busy, { ...busy, probability: 2 }] }),
      400,
      /faults\[1\]\.probability must be a number from 0 to 1, not 2/,
    ],
    ['an unknown path', () => ask('GET', '/fault'), 404, /There is: GET \/status/],
    ['a broken path', () => ask('GET', '/%ff'), 400, /percent-encoded/],
    ['another method', () => ask('PATCH', '/faults'), 405, /GET, POST, PUT, DELETE/],
    [
      'a body without end',
      () => ask('PUT', '/faults', { text: ' '.repeat(1024 * 1024 + 1) }),
      413,
      /at most 1048576 bytes/,
    ],
  ];
  for (const [what, send, status, says] of refused) {
    it(`${what}, and changes nothing`, async () => {
      const answer = await send();
      assert.equal(answer.status, status);
      assert.match(String(answer.json['error']), says);
      if (status === 405) assert.equal(answer.allow, 'GET, POST, PUT, DELETE');
      assert.deepEqual(server.faults.list(), []);
      assert.equal(server.throttle.setting, 'off');
    });
  }

  it('a port that is taken, by name', async () => {
    await assert.rejects(
      createServer({ inMemory: true, controlPort: port }),
      (error: unknown) =>
        error instanceof ListenError && error.service === 'control' && error.code === 'EADDRINUSE',
    );
  });
});
