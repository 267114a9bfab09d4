import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { RawConnection, send, signedRequest } from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';

const account = '/devstoreaccount1';

function insert(row: string): Buffer {
  const body = JSON.stringify({ PartitionKey: 'p', RowKey: row });
  return signedRequest({ method: 'POST', target: `${account}/rows`, body });
}

/** Statuses in the received bytes; a body may end without a line break. */
const statusesOf = (received: Buffer): number[] =>
  [...received.toString().matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

for (const isSecure of [false, true]) {
  describe(`a client that sends all and says so${isSecure ? ' over TLS' : ''}`, () => {
    let started: StartedServer;
    before(async () => {
      started = await startServer(isSecure ? { tls: 'self-signed' } : {});
      const body = '{"TableName":"rows"}';
      const created = signedRequest({ method: 'POST', target: `${account}/Tables`, body });
      assert.deepEqual(statusesOf(await answersTo(created)), [201]);
    });
    after(() => started[Symbol.asyncDispose]());

    function dial(): Socket {
      const { tablePort: port, certificate: ca = '' } = started.server;
      const plain = { port, host: '127.0.0.1', allowHalfOpen: true };
      return isSecure ? connectTls({ ...plain, ca }) : connectPlain(plain);
    }

    /** All received bytes until the server closes the connection too. */
    async function answersTo(bytes: Buffer): Promise<Buffer> {
      const socket = dial();
      socket.on('error', () => undefined);
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.end(bytes);
      await once(socket, 'end');
      socket.destroy();
      return Buffer.concat(chunks);
    }

    it('gets its answer, and the connection ends', async () => {
      const text = String(await answersTo(signedRequest({ target: `${account}/rows()` })));
      assert.match(text, /^HTTP\/1\.1 200 /);
      assert.match(text, /"value":\[/);
    });

    it('gets the answers to all that it has sent, in their order', async () => {
      const missing = signedRequest({ target: `${account}/none()` });
      const answers = await answersTo(Buffer.concat([insert('1'), missing, insert('2')]));
      assert.deepEqual(statusesOf(answers), [201, 404, 201]);
    });

    it('is refused when it has not sent all of a body, and nothing is stored', async () => {
      const whole = insert('cut');
      assert.deepEqual(statusesOf(await answersTo(whole.subarray(0, -1))), [400]);
      const rows = await answersTo(signedRequest({ target: `${account}/rows()` }));
      assert.ok(!rows.includes('cut'));
    });

    it('leaves nothing behind', async () => {
      const count = started.records.length;
      await Promise.all(
        Array.from({ length: 20 }, () => answersTo(signedRequest({ target: `${account}/rows()` }))),
      );
      await started.recorded(count + 20);
      assert.ok(started.records.slice(count).every(({ aborted }) => !aborted));
      assert.deepEqual(started.errors, []);
    });
  });
}

describe('a request that asks for another protocol', () => {
  let started: StartedServer;
  before(async () => {
    started = await startServer();
  });
  after(() => started[Symbol.asyncDispose]());

  const upgrade = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': '' };
  const target = `${account}/Tables`;

  it('is answered as if it did not, and its connection is kept', async () => {
    using connection = new RawConnection(started.server.tablePort);
    for (const headers of [upgrade, {}, upgrade, upgrade]) {
      connection.write(signedRequest({ target, headers }));
      const answer = await connection.read();
      assert.deepEqual([answer?.status, answer?.header('connection')], [200, 'keep-alive']);
    }
    const insert = signedRequest({ method: 'POST', target, body: '{}', headers: upgrade });
    connection.write(insert.subarray(0, -1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    connection.write(insert.subarray(-1));
    const answer = await connection.read();
    assert.deepEqual([answer?.status, answer?.header('connection')], [400, 'keep-alive']);
  });

  it('closes its connection when others came with it, of which nothing is looked at', async () => {
    for (const ahead of [[], [signedRequest({ target })]]) {
      using connection = new RawConnection(started.server.tablePort);
      const behind = signedRequest({ method: 'POST', target, body: '{"TableName":"behind"}' });
      connection.write(
        Buffer.concat([...ahead, signedRequest({ target, headers: upgrade }), behind]),
      );
      for (const _ of ahead) assert.equal((await connection.read())?.status, 200);
      const answer = await connection.read();
      assert.deepEqual([answer?.status, answer?.header('connection')], [200, 'close']);
      assert.equal(await connection.read(), undefined);
    }
    assert.deepEqual((await send(started.server.tablePort, { target })).items, []);
  });

  it('closes it also behind a body', async () => {
    using connection = new RawConnection(started.server.tablePort);
    const body = '{"TableName":"upgraded"}';
    const first = signedRequest({ method: 'POST', target, body, headers: upgrade });
    connection.write(Buffer.concat([first, signedRequest({ target })]));
    const answer = await connection.read();
    assert.deepEqual([answer?.status, answer?.header('connection')], [201, 'close']);
    assert.equal(await connection.read(), undefined);
  });
});
