import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  plainRequest,
  RawConnection,
  send,
  sendBytes,
  signedRequest,
} from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';

const account = '/devstoreaccount1';
const bodyMax = 4 * 1024 * 1024;

let started: StartedServer;
let port: number;

/**
 * The records of the server, once there is one for each request of the test and one for the table.
 */
async function recordsOf(count: number) {
  await started.recorded(1 + count);
  return started.records.slice(1);
}

function insert(rowKey: string, more: Record<string, string | undefined> = {}) {
  const body = JSON.stringify({ PartitionKey: 'p', RowKey: rowKey });
  return { method: 'POST', target: `${account}/rows`, body, headers: more };
}

beforeEach(async () => {
  started = await startServer();
  port = started.server.tablePort;
  await send(port, { method: 'POST', target: `${account}/Tables`, body: '{"TableName":"rows"}' });
  await started.recorded(1);
});

afterEach(async () => {
  await started[Symbol.asyncDispose]();
  assert.deepEqual(started.errors, []);
});

describe('the head of a request', () => {
  it('may hold a filter of 20 KB', async () => {
    const terms = Array.from({ length: 800 }, (_, index) => `RowKey eq 'row${index}'`);
    const filter = encodeURIComponent(terms.join(' or '));
    assert.ok(filter.length > 20_000);
    const response = await send(port, { target: `${account}/rows()?$filter=${filter}` });
    assert.equal(response.status, 200);
    assert.match(response.header('x-tabularium-plan') ?? '', /^class=/);
  });

  it('may hold a header of 60 KB', async () => {
    const headers = { 'x-padding': 'x'.repeat(60_000) };
    assert.equal((await send(port, { target: `${account}/Tables`, headers })).status, 200);
  });

  it('is refused with 431 beyond 64 KB', async () => {
    const headers = { 'x-padding': 'x'.repeat(80_000) };
    assert.equal((await send(port, { target: `${account}/Tables`, headers })).status, 431);
    const response = await send(port, { target: `${account}/rows?x=${'a'.repeat(70_000)}` });
    assert.equal(response.status, 431);
    const records = await recordsOf(2);
    assert.deepEqual(
      records.map(({ status }) => status),
      [431, 431],
    );
  });

  for (const [what, bytes] of [
    ['is no HTTP', 'nonsense\r\n\r\n'],
    ['has a bad header line', 'GET / HTTP/1.1\r\nHost x\r\n\r\n'],
    [
      'has two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    ],
  ] as const) {
    it(`is refused with 400 and recorded once when it ${what}`, async () => {
      const response = await sendBytes(port, bytes);
      assert.equal(response.status, 400);
      assert.ok(response.header('x-ms-request-id') !== undefined);
      const records = await recordsOf(1);
      assert.deepEqual(
        records.map(({ status, operation }) => [status, operation]),
        [[400, 'Unknown']],
      );
      assert.equal(records[0]?.requestId, response.header('x-ms-request-id'));
    });
  }

  for (const [what, header, statuses] of [
    ['two hosts', 'Host: other', [400]],
    ['two credentials', 'Authorization: SharedKey devstoreaccount1:x', [400, 401, 403]],
  ] as const) {
    it(`is refused when it has ${what}`, async () => {
      const text = signedRequest(insert('twice')).toString();
      const bytes = text.replace('\r\n\r\n', `\r\n${header}\r\n\r\n`);
      const { status } = await sendBytes(port, bytes);
      assert.ok(
        statuses.some((each) => each === status),
        String(status),
      );
      assert.deepEqual((await send(port, { target: `${account}/rows()` })).items, []);
    });
  }

  it('may not ask for a tunnel', async () => {
    const response = await sendBytes(port, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.equal(response.status, 405);
    const [record] = await recordsOf(1);
    assert.equal(record?.method, 'CONNECT');
  });
});

describe('the body of a request', () => {
  it('is refused by its length before it is read, and the answer arrives whole', async () => {
    using connection = new RawConnection(port);
    const body = Buffer.alloc(4 * bodyMax, 32);
    const bytes = signedRequest({ method: 'POST', target: `${account}/rows`, body });
    // A client that reads only after it has sent everything would lose the response to a reset.
    connection.socket.pause();
    await new Promise((resolve) => connection.socket.write(bytes, resolve));
    connection.socket.resume();
    const response = await connection.read();
    assert.equal(response?.status, 413);
    assert.ok(response.text.includes('RequestBodyTooLarge'));
    assert.equal(response.header('connection'), 'close');
    assert.equal((await connection.readToEnd()).length, 0);
    const [record] = await recordsOf(1);
    assert.deepEqual([record?.status, record?.errorCode], [413, 'RequestBodyTooLarge']);
  });

  it('is refused once it has grown too large in chunks', async () => {
    using connection = new RawConnection(port);
    const headers = { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined };
    connection.write(signedRequest({ ...insert('chunked'), body: '', headers }));
    const chunk = Buffer.concat([
      Buffer.from('100000\r\n'),
      Buffer.alloc(0x100000, 32),
      Buffer.from('\r\n'),
    ]);
    for (let sent = 0; sent < 6; sent++) connection.write(chunk);
    const response = await connection.read();
    assert.equal(response?.status, 413);
    assert.equal(response.header('connection'), 'close');
  });

  it('is waited for with 100 Continue', async () => {
    const request = insert('continued', { Expect: '100-continue' });
    const length = String(request.body.length);
    using connection = new RawConnection(port);
    const headers = { ...request.headers, 'Content-Length': length };
    connection.write(signedRequest({ ...request, body: '', headers }));
    await new Promise<void>((resolve) => {
      connection.socket.once('data', (bytes: Buffer) => {
        assert.match(bytes.toString(), /^HTTP\/1\.1 100 /);
        resolve();
      });
    });
    connection.write(request.body);
    assert.equal((await connection.read())?.status, 201);
  });

  it('is not asked for with 100 Continue when it will be refused', async () => {
    const headers = { Expect: '100-continue', 'Content-Length': String(bodyMax + 1) };
    using connection = new RawConnection(port);
    connection.write(signedRequest({ ...insert('x'), body: '', headers }));
    const bytes = await new Promise<Buffer>((resolve) => connection.socket.once('data', resolve));
    assert.match(bytes.toString(), /^HTTP\/1\.1 413 /);
  });

  it('that breaks off is recorded once, as aborted, and leaves the server well', async () => {
    const connection = new RawConnection(port);
    const headers = { 'Content-Length': '1000' };
    connection.write(signedRequest({ ...insert('x'), body: '{"Part', headers }));
    connection.socket.end();
    await connection.readToEnd();
    connection.socket.destroy();
    const records = await recordsOf(1);
    assert.equal(records.length, 1);
    assert.equal((await send(port, { target: `${account}/Tables` })).status, 200);
  });

  it('in broken chunks is answered with 400 and recorded once', async () => {
    const headers = { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined };
    using connection = new RawConnection(port);
    connection.write(signedRequest({ ...insert('x'), body: 'zz\r\n', headers }));
    assert.equal((await connection.read())?.status, 400);
    await connection.readToEnd();
    const records = await recordsOf(1);
    assert.deepEqual(
      records.map(({ status, operation }) => [status, operation]),
      [[400, 'InsertEntity']],
    );
  });
});

describe('a connection', () => {
  it('answers pipelined requests in order, each with its record', async () => {
    using connection = new RawConnection(port);
    const requests = [
      insert('1'),
      { target: `${account}/rows()` },
      { target: `${account}/none()` },
    ];
    connection.write(Buffer.concat(requests.map((request) => signedRequest(request))));
    const statuses = [];
    for (const _ of requests) statuses.push((await connection.read())?.status);
    assert.deepEqual(statuses, [201, 200, 404]);
    assert.equal((await recordsOf(3)).length, 3);
  });

  it('still answers what came before bytes that are no HTTP', async () => {
    using connection = new RawConnection(port);
    const first = signedRequest({ target: `${account}/Tables` });
    connection.write(Buffer.concat([first, Buffer.from('nonsense\r\n\r\n')]));
    assert.equal((await connection.read())?.status, 200);
    assert.equal((await connection.read())?.status, 400);
    const records = await recordsOf(2);
    assert.deepEqual(new Set(records.map(({ status }) => status)), new Set([200, 400]));
  });

  it('is kept after an error', async () => {
    using connection = new RawConnection(port);
    for (const [bytes, status] of [
      [plainRequest({ target: '/nobody/t', headers: { Host: 'localhost' } }), 404],
      [signedRequest({ ...insert('x'), body: 'no json' }), 400],
      [plainRequest({ target: `${account}/rows`, headers: { Host: 'localhost' } }), 401],
      [signedRequest({ method: 'HEAD', target: `${account}/Tables` }), 405],
    ] as const) {
      connection.write(bytes);
      if (status === 405) break;
      assert.equal((await connection.read())?.status, status);
    }
  });

  it('is recorded when its client leaves before the answer', async () => {
    for (let count = 0; count < 20; count++) {
      const connection = new RawConnection(port);
      connection.write(signedRequest({ target: `${account}/rows()` }));
      connection.socket.end();
      await connection.readToEnd();
      connection.socket.destroy();
    }
    assert.equal((await recordsOf(20)).length, 20);
  });
});

describe('GET /healthz', () => {
  it('says ok without credentials', async () => {
    const target = { target: '/healthz', headers: { Host: 'localhost' } };
    const response = await sendBytes(port, plainRequest(target));
    assert.equal(response.status, 200);
    assert.equal(response.header('content-type'), 'application/json');
    assert.deepEqual(JSON.parse(response.text), { status: 'ok' });
    const [record] = await recordsOf(1);
    assert.deepEqual([record?.operation, record?.status], ['Health', 200]);
  });
});
