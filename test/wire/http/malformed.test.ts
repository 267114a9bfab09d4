import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { sendBytes } from '../kit/connection.js';
import { assertRefused, isRefusal, malformedHttp, statusesOf } from '../kit/malformed-http.js';
import { messageBody, QueueWireClient } from '../kit/queue-client.js';
import type { Headers } from '../kit/request-bytes.js';
import { startFixture } from '../kit/server.js';

// For any bytes on the port of a service the response is a documented 4xx: never a 5xx, a hang or a
// crash.

const { client, server } = await startFixture();
const queues = QueueWireClient.of(server);
after(() => queues.close());
const table = await client.newTable('hostile');
const queue = await queues.newQueue('hostile');
await client.put(table, { PartitionKey: 'canary', RowKey: 'r', text: 'unharmed', n: 42 });

const entityBody = '{"PartitionKey":"lies","RowKey":"r"}';
const ofMessage = messageBody('lies');
const services = [
  {
    name: 'tables',
    port: server.tablePort,
    length: entityBody.length,
    bytes: (headers: Headers, body = entityBody) =>
      client.bytes({ method: 'POST', path: `/${table}`, body, headers }),
    stored: () => client.rowKeys(table),
    before: ['r'],
  },
  {
    name: 'queues',
    port: server.queuePort,
    length: ofMessage.length,
    bytes: (headers: Headers, body = ofMessage) =>
      queues.bytes({ method: 'POST', path: `/${queue}/messages`, body, headers }),
    stored: () => queues.texts(queue),
    before: [],
  },
] as const;

/** Checks that the server responds and that stored data are unchanged. */
async function assertUnharmed(): Promise<void> {
  const health = await client.send({ target: '/healthz', auth: 'none' });
  assert.equal(health.status, 200);
  for (const { stored, before } of services) assert.deepEqual(await stored(), before);
}

describe('bytes that are no request of a storage service', () => {
  for (const [name, bytes] of malformedHttp) {
    it(`${name}: refused`, async () => {
      for (const { port } of services) await assertRefused(port, bytes);
      await assertUnharmed();
    });
  }

  it('that only begin are not answered with 5xx and do not hang others', async () => {
    const pending = sendBytes(server.tablePort, 'POST /devstoreaccount1/Tab', { quietMs: 300 });
    await assertUnharmed();
    assert.deepEqual(statusesOf((await pending).received), []);
  });
});

for (const { name, port, length, bytes } of services) {
  describe(`bodies that are not what they say, of ${name}`, () => {
    const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

    it('one cut short stores nothing', async () => {
      const sent = bytes({ 'Content-Length': String(length + 10) });
      const { received } = await sendBytes(port, sent, { endAfter: true });
      assert.ok(statusesOf(received).every(isRefusal));
      await assertUnharmed();
    });

    it('bytes behind one are not part of it', async () => {
      const sent = bytes({ 'Content-Length': String(length - 1) });
      const { received } = await sendBytes(port, sent, { endAfter: true });
      const statuses = statusesOf(received);
      assert.equal(statuses[0], 400);
      assert.ok(statuses.every(isRefusal), statuses.join(', '));
      await assertUnharmed();
    });

    it('a chunked one that ends early stores nothing', async () => {
      const text = name === 'tables' ? entityBody : ofMessage;
      const chunk = Buffer.from(`${length.toString(16)}\r\n${text}\r\n`);
      const sent = Buffer.concat([bytes(chunked, ''), chunk]);
      const { received } = await sendBytes(port, sent, { endAfter: true });
      assert.ok(statusesOf(received).every(isRefusal));
      await assertUnharmed();
    });
  });
}
