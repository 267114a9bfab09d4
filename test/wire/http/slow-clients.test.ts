import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { defaultLimits, type HttpLimits } from '../../../src/http/pipeline/limits.js';
import { signedRequest } from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { costly } from '../../support/run-length.js';

const account = '/devstoreaccount1';
/** Much longer than a busy machine keeps a process from reading what has arrived. */
const slow = { headersTimeoutMs: 600, requestTimeoutMs: 900 };

/** All bytes until the other side closes, as text. */
async function textOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('error', () => undefined);
  for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function start(limits: Partial<HttpLimits>, isTls = false): Promise<StartedServer> {
  return startServer({ limits, ...(isTls ? { tls: 'self-signed' as const } : {}) });
}

async function open({ server }: StartedServer): Promise<Socket> {
  const { tablePort: port, certificate } = server;
  const host = '127.0.0.1';
  if (certificate === undefined) {
    const socket = connect({ port, host });
    await once(socket, 'connect');
    return socket;
  }
  const socket = connectTls({ port, host, ca: certificate });
  await once(socket, 'secureConnect');
  return socket;
}

for (const isTls of [false, true]) {
  const over = isTls ? 'https' : 'http';

  describe(`slow clients over ${over}`, () => {
    it('are cut off when one drips its body', costly(), async () => {
      await using started = await start(slow, isTls);
      const socket = await open(started);
      const headers = { 'Content-Length': '1000' };
      const target = `${account}/Tables`;
      socket.write(signedRequest({ method: 'POST', target, body: '', headers }));
      const drip = setInterval(() => socket.write('{'), 50);
      const answer = await textOf(socket).finally(() => clearInterval(drip));
      assert.match(answer, /^HTTP\/1\.1 408 /);
      await started.recorded(1);
      assert.deepEqual(
        started.records.map(({ status, operation }) => [status, operation]),
        [[408, 'CreateTable']],
      );
    });

    it('are cut off when one drips its header', costly(), async () => {
      await using started = await start(slow, isTls);
      const socket = await open(started);
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX: ');
      const drip = setInterval(() => socket.write('a'), 50);
      const answer = await textOf(socket).finally(() => clearInterval(drip));
      assert.match(answer, /^HTTP\/1\.1 408 /);
    });

    it('are cut off when one keeps an idle connection', costly(), async () => {
      await using started = await start({ keepAliveTimeoutMs: 200 }, isTls);
      const socket = await open(started);
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      assert.match(await textOf(socket), /^HTTP\/1\.1 200 [\s\S]*Connection: keep-alive/i);
    });

    it(
      'are cut off when one does not take a large answer, and memory is free again',
      costly(),
      async () => {
        await using started = await start({ responseTimeoutMs: 500 }, isTls);
        await fill(started);
        const count = started.records.length;
        const socket = await open(started);
        socket.pause();
        socket.on('error', () => undefined);
        const request = signedRequest({ target: `${account}/large()` });
        // More than the socket buffers of the system hold.
        for (let sent = 0; sent < 6; sent++) socket.write(request);
        await started.recorded(count + 6);
        const records = started.records.slice(count);
        assert.ok(records.some(({ aborted, status }) => aborted && status === 200));
        assert.ok(records.every(({ bytesSent, aborted }) => aborted || bytesSent > 3_000_000));
        socket.destroy();
      },
    );
  });
}

/** Creates a table with one page of almost 4 MiB. */
async function fill(started: StartedServer): Promise<void> {
  const socket = await open(started);
  const text = 'x'.repeat(30_000);
  const bodies = Array.from({ length: 130 }, (_, at) =>
    JSON.stringify({ PartitionKey: 'p', RowKey: String(at), text }),
  );
  const table = { method: 'POST', target: `${account}/Tables`, body: '{"TableName":"large"}' };
  const inserts = bodies.map((body) => ({ method: 'POST', target: `${account}/large`, body }));
  socket.resume();
  for (const request of [table, ...inserts]) {
    const count = started.records.length;
    socket.write(signedRequest({ ...request, headers: { Prefer: 'return-no-content' } }));
    await started.recorded(count + 1);
  }
  assert.ok(started.records.every(({ status }) => status === 204));
  socket.destroy();
}

describe('docs/reference/limits.md', () => {
  it('says every limit of HTTP, its default, and no other', async () => {
    const url = new URL('../../../../docs/reference/limits.md', import.meta.url);
    const page = await readFile(url, 'utf8');
    const rows = Array.from(page.matchAll(/^\| `(\w+)` +\| ([\d,]+) /gm), ([, name, value]) => [
      name,
      Number(value?.replaceAll(',', '')),
    ]);
    assert.deepEqual(Object.fromEntries(rows), defaultLimits);
  });

  it('tells of connections beyond the limit what holds', async () => {
    await using started = await start({ connectionsMax: 3 });
    const port = started.server.tablePort;
    const held = await Promise.all([open(started), open(started), open(started)]);
    const beyond = connect(port, '127.0.0.1');
    assert.equal(await textOf(beyond), '');
    held[0]?.destroy();
    // Later than its client, the server knows that the connection has ended.
    let answer = '';
    while (answer === '') {
      const next = connect(port, '127.0.0.1');
      next.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      answer = await textOf(next).catch(() => '');
    }
    assert.match(answer, /^HTTP\/1\.1 200 /);
    for (const socket of held) socket.destroy();
  });
});
