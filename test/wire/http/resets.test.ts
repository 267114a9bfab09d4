import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { sendBytes } from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { costly } from '../../support/run-length.js';

const health = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
const insert =
  'POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: x\r\nContent-Length: 18\r\n\r\n{"TableName":"rs"}';
const foreignRequests = [
  'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
  `CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n${'x'.repeat(70_000)}`,
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'nonsense\r\n\r\n',
  `${health}${health}CONNECT x:1 HTTP/1.1\r\n\r\n`,
  insert.slice(0, -1),
  '\x16\x03\x01\x02\x00\x01\x00',
];

/** Milliseconds between the last byte of a client and its reset, during which the server works. */
const pausesMs = [0, 1, 2, 3, 5];

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Sends bytes and resets the connection, like a client that crashes. */
async function sendAndReset(port: number, bytes: string, waitMs: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const closed = once(socket, 'close');
  socket.write(Buffer.from(bytes, 'latin1'));
  if (waitMs > 0) await pause(waitMs);
  socket.resetAndDestroy();
  await closed;
}

async function resetAll(port: number, requests: readonly string[]): Promise<void> {
  for (const waitMs of pausesMs) {
    const rounds = requests.flatMap((bytes) => [bytes, bytes, bytes, bytes]);
    await Promise.all(rounds.map((bytes) => sendAndReset(port, bytes, waitMs)));
  }
}

/** Uncaught errors of connections: each would have ended the server. */
const unheard: unknown[] = [];
const hear = (error: unknown) => unheard.push(error);

describe('connections that clients reset', () => {
  let started: StartedServer;
  let secured: StartedServer;

  before(async () => {
    process.on('uncaughtExceptionMonitor', hear);
    started = await startServer({ controlPort: 0 });
    secured = await startServer({ tls: 'self-signed' });
  });
  after(async () => {
    // Timers of servers keep no process alive.
    const holding = setInterval(() => undefined, 100);
    await started[Symbol.asyncDispose]();
    await secured[Symbol.asyncDispose]();
    clearInterval(holding);
    process.off('uncaughtExceptionMonitor', hear);
    assert.deepEqual(unheard, []);
    assert.deepEqual([...started.errors, ...secured.errors], []);
  });

  async function stillAnswers(): Promise<void> {
    const { tablePort, queuePort } = started.server;
    for (const port of [tablePort, queuePort])
      assert.equal((await sendBytes(port, health)).status, 200);
  }

  it('do no harm after requests that ask for another protocol or none', costly(), async () => {
    const { tablePort, queuePort, controlPort = 0 } = started.server;
    for (const port of [tablePort, queuePort, controlPort]) await resetAll(port, foreignRequests);
    await stillAnswers();
  });

  it('do no harm after a request of any method', async () => {
    const { tablePort, queuePort, controlPort = 0 } = started.server;
    const requests = METHODS.map((method) => `${method} /a/b HTTP/1.1\r\nHost: x\r\n\r\n`);
    for (const port of [tablePort, queuePort, controlPort])
      await Promise.all(requests.map((bytes, at) => sendAndReset(port, bytes, at % 4)));
    await stillAnswers();
  });

  it('do no harm after any byte of a request', async () => {
    for (const port of [started.server.tablePort, secured.server.tablePort]) {
      const cuts = Array.from(insert, (_, at) => insert.slice(0, at + 1));
      await Promise.all(cuts.map((bytes, at) => sendAndReset(port, bytes, at % 4)));
    }
    await stillAnswers();
  });

  it('do no harm on a port of TLS, without TLS, in a handshake and after it', async () => {
    const { tablePort, certificate } = secured.server;
    await resetAll(tablePort, foreignRequests);
    for (const bytes of foreignRequests) {
      for (const waitMs of pausesMs) {
        const under: Socket = connect(tablePort, '127.0.0.1');
        const secure = connectTls({ socket: under, ca: certificate, servername: 'localhost' });
        secure.on('error', () => undefined);
        under.on('error', () => undefined);
        await once(secure, 'secureConnect');
        secure.write(bytes);
        await pause(waitMs);
        under.resetAndDestroy();
      }
    }
    const secure = connectTls({ port: tablePort, host: '127.0.0.1', ca: certificate });
    secure.write(health);
    const [answer] = (await once(secure, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
    secure.destroy();
  });
});
