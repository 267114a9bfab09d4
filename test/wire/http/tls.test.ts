import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { TableTransaction } from '@azure/data-tables';
import { BlobServiceClient } from '@azure/storage-blob';
import { QueueServiceClient } from '@azure/storage-queue';
import { codeOf } from '../../../src/base/thrown.js';
import { plainRequest, RawConnection, signedRequest } from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { failureOf, secured, tableOf, textOf } from '../../support/tls-clients.js';
import { costly } from '../../support/run-length.js';

const account = '/devstoreaccount1';
const list = { target: `${account}/Tables`, headers: { Connection: 'close' } };

describe('a server with TLS', () => {
  let started: StartedServer;
  let ca: string;
  let port: number;

  before(async () => {
    started = await startServer({ tls: 'self-signed' });
    ca = started.server.certificate ?? '';
    port = started.server.tablePort;
  });

  after(async () => {
    await started[Symbol.asyncDispose]();
    assert.deepEqual(started.errors, []);
  });

  it('names https in its endpoints and connection strings', () => {
    const { tableEndpoint, queueEndpoint, queuePort, blobEndpoint, blobPort } = started.server;
    assert.equal(tableEndpoint, `https://127.0.0.1:${port}${account}`);
    assert.equal(queueEndpoint, `https://127.0.0.1:${queuePort}${account}`);
    assert.equal(blobEndpoint, `https://127.0.0.1:${blobPort}${account}`);
    const text = started.server.connectionString();
    assert.match(text, /^DefaultEndpointsProtocol=https;/);
    assert.doesNotMatch(text, /http:/);
  });

  it('serves @azure/data-tables, whose requests are each recorded once', async () => {
    const table = tableOf(started, 'people');
    const before = started.records.length;
    await table.createTable();
    await table.createEntity({ partitionKey: 'p', rowKey: '1', name: 'Ada' });
    const group = new TableTransaction();
    for (const rowKey of ['2', '3']) group.createEntity({ partitionKey: 'p', rowKey });
    await table.submitTransaction(group.actions);
    const names: unknown[] = [];
    for await (const { rowKey } of table.listEntities()) names.push(rowKey);
    assert.deepEqual(names, ['1', '2', '3']);
    await started.recorded(before + 4);
    assert.deepEqual(
      started.records.slice(before).map(({ operation }) => operation),
      ['CreateTable', 'InsertEntity', 'EntityGroupTransaction', 'QueryEntities'],
    );
  });

  it('serves @azure/storage-queue', async () => {
    const { server } = started;
    // The types of the client lack options that it passes to its transport.
    const options = { tlsOptions: { ca }, retryOptions: { maxTries: 1 } };
    const service = QueueServiceClient.fromConnectionString(server.connectionString(), options);
    const queue = service.getQueueClient('letters');
    await queue.create();
    await queue.sendMessage('over TLS');
    const { receivedMessageItems } = await queue.receiveMessages();
    assert.deepEqual(
      receivedMessageItems.map(({ messageText }) => messageText),
      ['over TLS'],
    );
  });

  it('serves @azure/storage-blob, streams and copies by https URLs as well', async () => {
    const { server } = started;
    const options = { tlsOptions: { ca }, retryOptions: { maxTries: 1 } };
    const service = BlobServiceClient.fromConnectionString(server.connectionString(), options);
    const container = service.getContainerClient('things');
    await container.create();
    const content = Buffer.alloc(3 * 1024 * 1024, 'over TLS ');
    const blob = container.getBlockBlobClient('b');
    await blob.uploadData(content, { blockSize: 1024 * 1024, maxSingleShotSize: 1024 });
    assert.ok(content.equals(await blob.downloadToBuffer()));
    const copy = container.getBlobClient('copy');
    await (await copy.beginCopyFromURL(blob.url)).pollUntilDone();
    const { copySource, contentLength } = await copy.getProperties();
    assert.deepEqual([copySource, contentLength], [blob.url, content.length]);
    assert.match(blob.url, /^https:/);
  });

  it('writes https into the links of its answers', async () => {
    const socket = await secured(port, ca);
    const body = '{"TableName":"linked"}';
    const headers = { Connection: 'close' };
    socket.write(signedRequest({ method: 'POST', target: `${account}/Tables`, body, headers }));
    const answer = await textOf(socket);
    assert.match(answer, /^HTTP\/1\.1 201 /);
    assert.match(
      answer,
      /\r\nLocation: https:\/\/127\.0\.0\.1\/devstoreaccount1\/Tables\('linked'\)/i,
    );
  });

  it('says that it is well over https', async () => {
    const socket = await secured(port, ca);
    const headers = { Host: 'localhost', Connection: 'close' };
    socket.write(plainRequest({ target: '/healthz', headers }));
    assert.match(await textOf(socket), /^HTTP\/1\.1 200 [\s\S]*"ok"/);
  });

  it('is refused by a client that was not told to trust it', async () => {
    const code = await failureOf({ port, host: '127.0.0.1' });
    assert.equal(code, 'DEPTH_ZERO_SELF_SIGNED_CERT');
  });

  it('is known by the names that clients use for it', async () => {
    for (const servername of ['localhost', 'devstoreaccount1.localhost', 'a.table.localhost']) {
      const socket = await secured(port, ca, { servername });
      assert.ok(socket.authorized);
      socket.destroy();
    }
    const code = await failureOf({ port, host: '127.0.0.1', ca, servername: 'other.example' });
    assert.equal(code, 'ERR_TLS_CERT_ALTNAME_INVALID');
  });

  it('agrees on no suite of TLS 1.2 without forward secrecy and authenticated encryption', async () => {
    const host = '127.0.0.1';
    for (const name of [
      'AES128-GCM-SHA256',
      'AES256-SHA',
      'ECDHE-ECDSA-AES128-SHA',
      'ECDHE-ECDSA-AES256-SHA384',
      'ECDHE-RSA-AES128-SHA256',
    ]) {
      const options = { port, host, ca, maxVersion: 'TLSv1.2', ciphers: name } as const;
      assert.match(await failureOf(options), /HANDSHAKE_FAILURE|NO_CIPHER/, name);
    }
    const strong = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' } as const;
    const socket = await secured(port, ca, strong);
    assert.equal(socket.getCipher().name, strong.ciphers);
    socket.destroy();
  });

  it('ends a connection over which a client wants to shake hands again', async () => {
    const socket = await secured(port, ca, { maxVersion: 'TLSv1.2' });
    let isAgreed = false;
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.renegotiate({}, (error) => (isAgreed = error === null));
    await closed;
    assert.equal(isAgreed, false);
  });

  it('ends a connection over which bytes come that nobody has sealed', async () => {
    const carrier = connectPlain(port, '127.0.0.1');
    const socket = connect({ socket: carrier, ca, servername: 'localhost' });
    await once(socket, 'secureConnect');
    const closed = new Promise((resolve) => carrier.once('close', resolve));
    socket.on('error', () => undefined);
    carrier.write(Buffer.concat([Buffer.from([0x17, 3, 3, 0, 64]), Buffer.alloc(64)]));
    await closed;
  });

  it('speaks HTTP/1.1 over TLS 1.2 and 1.3, and nothing else', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const options = {
        minVersion: version,
        maxVersion: version,
        ALPNProtocols: ['h2', 'http/1.1'],
      };
      const socket = await secured(port, ca, options);
      assert.deepEqual([socket.getProtocol(), socket.alpnProtocol], [version, 'http/1.1']);
      socket.destroy();
    }
    const old = {
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const;
    assert.match(await failureOf({ port, host: '127.0.0.1', ca, ...old }), /PROTOCOL_VERSION/);
    const http2 = { port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] };
    assert.match(await failureOf(http2), /NO_APPLICATION_PROTOCOL/);
  });

  it('tells a client that speaks http what to do, and records that once', async () => {
    const before = started.records.length;
    using connection = new RawConnection(port);
    connection.write(signedRequest(list));
    const response = await connection.read();
    assert.equal(response?.status, 400);
    assert.match(response.text, /This port speaks https/);
    assert.equal((await connection.readToEnd()).length, 0);
    const added = started.records.slice(before);
    assert.deepEqual(
      added.map(({ status, requestId }) => [status, requestId]),
      [[400, response.header('x-ms-request-id')]],
    );
  });

  it('closes connections that send anything else, without an answer or a record', async () => {
    const before = started.records.length;
    const hello = Buffer.from([0x16, 3, 1, 0, 4, 1, 2, 3, 4]);
    for (const bytes of [Buffer.from([0, 1, 2]), Buffer.from('nonsense'), hello]) {
      const socket = connectPlain(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(bytes);
      assert.doesNotMatch(await textOf(socket), /HTTP/);
    }
    connectPlain(port, '127.0.0.1').end();
    assert.equal(started.records.length, before);
    const table = tableOf(started, 'still');
    await table.createTable();
  });
});

describe('a port without TLS', () => {
  it('closes connections of clients that begin with TLS, and records nothing', async () => {
    await using started = await startServer();
    const { tablePort: port } = started.server;
    assert.match(await failureOf({ port, host: '127.0.0.1' }), /ECONNRESET|EPROTO/);
    assert.equal(started.records.length, 0);
    assert.deepEqual([started.server.certificate, started.errors], [undefined, []]);
  });
});

describe('slow clients of a port with TLS', () => {
  const limits = { handshakeTimeoutMs: 150, headersTimeoutMs: 150, requestTimeoutMs: 300 };

  for (const [what, bytes] of [
    ['sends nothing', Buffer.alloc(0)],
    ['stops after one byte', Buffer.from([0x16])],
    ['stops in its first message', Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])],
  ] as const) {
    it(`are cut off when one ${what} of the handshake`, async () => {
      await using started = await startServer({ tls: 'self-signed', limits });
      const socket = connectPlain(started.server.tablePort, '127.0.0.1');
      socket.on('error', () => undefined);
      if (bytes.length > 0) socket.write(bytes);
      assert.equal(await textOf(socket), '');
      assert.equal(started.records.length, 0);
    });
  }

  it('are cut off when one drips its handshake', async () => {
    await using started = await startServer({ tls: 'self-signed', limits });
    const socket = connectPlain(started.server.tablePort, '127.0.0.1');
    socket.on('error', () => undefined);
    const head = Buffer.from([0x16, 3, 1, 0x20, 0, 1, 0, 0x1f, 0xfc, 3, 3]);
    let sent = 0;
    const drip = setInterval(() => socket.write(head.subarray(sent % 11, (sent++ % 11) + 1)), 20);
    const answer = await textOf(socket)
      // A byte after the end is answered by a reset, which may arrive first.
      .catch((error: unknown) => codeOf(error))
      .finally(() => clearInterval(drip));
    assert.match(answer ?? '', /^(|ECONNRESET|EPIPE)$/);
  });

  it('are cut off when one sends no request, or half of one', costly(), async () => {
    // Its handshake may take as long as it does on a busy machine.
    const limits = { headersTimeoutMs: 600, requestTimeoutMs: 900 };
    await using started = await startServer({ tls: 'self-signed', limits });
    const { tablePort: port, certificate } = started.server;
    const silent = await secured(port, certificate);
    assert.equal(await textOf(silent), '');
    assert.equal(started.records.length, 0);
    const slow = await secured(port, certificate);
    slow.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
    assert.match(await textOf(slow), /^HTTP\/1\.1 408 /);
    assert.deepEqual(
      started.records.map(({ status }) => status),
      [408],
    );
  });
});

describe('closing a server with TLS', () => {
  // The limit only turns endless waiting into a failure.
  it('waits neither for handshakes nor for idle connections', { timeout: 60_000 }, async () => {
    const limits = { handshakeTimeoutMs: 600_000, keepAliveTimeoutMs: 600_000 };
    await using started = await startServer({ tls: 'self-signed', limits });
    const { tablePort: port, certificate } = started.server;
    const silent = connectPlain(port, '127.0.0.1');
    await once(silent, 'connect');
    const idle = await secured(port, certificate);
    const heard = Promise.all([textOf(silent), textOf(idle)]);
    await started.server.close();
    assert.deepEqual(await heard, ['', '']);
  });

  it('lets a request in flight have its whole answer', async () => {
    await using started = await startServer({ tls: 'self-signed' });
    const socket = await secured(started.server.tablePort, started.server.certificate);
    const body = '{"TableName":"late"}';
    const headers = { Expect: '100-continue', 'Content-Length': String(body.length) };
    const target = `${account}/Tables`;
    const head = signedRequest({ method: 'POST', target, body: '', headers });
    socket.write(head);
    await once(socket, 'data');
    const closed = started.server.close();
    socket.write(body);
    assert.match(await textOf(socket), /^HTTP\/1\.1 201 [\s\S]*late/);
    await closed;
    assert.deepEqual(
      started.records.map(({ status, aborted }) => [status, aborted]),
      [[201, false]],
    );
  });
});
