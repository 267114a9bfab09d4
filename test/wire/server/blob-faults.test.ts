import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock, type ServerOptions } from '../../../src/app/index.js';
import { sendUntilClosed } from '../../support/closing-connection.js';
import { startServer } from '../../support/start-server.js';
import { BlobWireClient } from '../kit/blob-client.js';
import type { DatedRequest } from '../kit/dated-client.js';

// Faults and throttling, as the control API sets them over HTTP, of single blobs.

const block = { 'x-ms-blob-type': 'BlockBlob' };
const append = { 'x-ms-blob-type': 'AppendBlob' };

/** A server with a control API and a container; its clock stands still until it is advanced. */
async function controlled(options: ServerOptions = {}) {
  const clock = manualClock(Date.UTC(2026, 0, 2) * 1000);
  const started = await startServer({ controlPort: 0, clock, checkClockSkew: false, ...options });
  const { server } = started;
  const now = () => new Date(clock.nowMicros() / 1000);
  const wire = new BlobWireClient(server.blobPort, { now });
  const path = `/${await wire.newContainer()}`;
  const put = (name: string, body = 'text', headers = block): DatedRequest => {
    return { method: 'PUT', path: `${path}/${name}`, headers, body };
  };
  return {
    wire,
    path,
    put,
    port: server.blobPort,
    wait: (ms: number) => clock.advanceMicros(ms * 1000),
    async control(method: string, at: string, body: unknown): Promise<void> {
      const response = await fetch(`http://127.0.0.1:${server.controlPort}${at}`, {
        method,
        body: JSON.stringify(body),
      });
      assert.ok(response.ok, await response.text());
    },
    async [Symbol.asyncDispose]() {
      wire.close();
      await started[Symbol.asyncDispose]();
      assert.deepEqual(started.errors, []);
    },
  };
}

describe('a fault of one blob', () => {
  it('answers an error in XML, and no other blob with it', async () => {
    await using world = await controlled();
    const { wire, put, path } = world;
    await world.control('POST', '/faults', {
      service: 'blob',
      blob: 'dir/a*',
      effect: { kind: 'error', code: 'ServerBusy', retryAfterSeconds: 3 },
    });
    const refused = await wire.send(put('dir/a1'));
    assert.deepEqual([refused.status, refused.header('retry-after')], [503, '3']);
    assert.match(refused.text, /<Error><Code>ServerBusy<\/Code>/);
    await wire.expect(201, put('dir/b1'));
    await world.control('PUT', '/faults', []);
    await wire.expect(404, { path: `${path}/dir/a1` });
  });

  it('resets the connection before any work, so that nothing is stored', async () => {
    await using world = await controlled();
    const { wire, put, path, port } = world;
    await world.control('POST', '/faults', { operation: 'PutBlob', effect: { kind: 'reset' } });
    const cut = await sendUntilClosed(port, wire.bytes(put('a', 'x'.repeat(100_000))));
    assert.equal(cut.text, '');
    await wire.expect(404, { path: `${path}/a` });
  });

  it('drops the answer of an append that is done', async () => {
    await using world = await controlled();
    const { wire, put, path, port } = world;
    await wire.expect(201, { method: 'PUT', path: `${path}/log`, headers: append });
    await world.control('POST', '/faults', {
      operation: 'AppendBlock',
      effect: { kind: 'drop-response' },
    });
    const request = { ...put('log?comp=appendblock', 'line', {} as typeof block) };
    const dropped = await sendUntilClosed(port, wire.bytes(request));
    assert.equal(dropped.text, '');
    assert.equal((await wire.expect(200, { path: `${path}/log` })).text, 'line');
  });

  it('cuts a download that is sent in pieces', async () => {
    await using world = await controlled();
    const { wire, put, path, port } = world;
    const text = 'x'.repeat(1_000_000);
    await wire.expect(201, put('a', text));
    await world.control('POST', '/faults', {
      operation: 'GetBlob',
      effect: { kind: 'truncate', bytes: 300_000 },
    });
    const { text: received } = await sendUntilClosed(port, wire.bytes({ path: `${path}/a` }));
    const [head = '', body = ''] = received.split('\r\n\r\n');
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n[^]*Content-Length: 1000000\r\n/i);
    assert.equal(body.length, 300_000);
    await world.control('PUT', '/faults', []);
    assert.equal((await wire.expect(200, { path: `${path}/a` })).text, text);
  });
});

describe('a throttled blob', () => {
  it('takes its burst and its rate, while others are served', async () => {
    await using world = await controlled();
    const { wire, put, path } = world;
    await wire.expect(201, put('hot'));
    await wire.expect(201, put('cold'));
    await world.control('PUT', '/throttle', { requestsPerSecondPerBlob: 10 });
    const served = async (name: string, count: number): Promise<number> => {
      let passed = 0;
      for (let index = 0; index < count; index += 1) {
        const response = await wire.send({ path: `${path}/${name}` });
        if (response.status === 200) passed += 1;
        else {
          assert.equal(response.status, 503);
          assert.match(response.text, /<Code>ServerBusy<\/Code>/);
        }
      }
      return passed;
    };
    assert.equal(await served('hot', 20), 10);
    assert.equal(await served('cold', 5), 5);
    world.wait(500);
    assert.equal(await served('hot', 20), 5);
    await world.control('PUT', '/throttle', 'off');
    assert.equal(await served('hot', 20), 20);
  });
});

describe('the website of an account', () => {
  it('meets faults by the name of its operation and by paths, and has limits', async () => {
    await using world = await controlled();
    const { wire, port } = world;
    const on = '<Enabled>true</Enabled><IndexDocument>index.html</IndexDocument>';
    const properties = `<StaticWebsite>${on}</StaticWebsite>`;
    await wire.expect(202, {
      method: 'PUT',
      path: '/?restype=service&comp=properties',
      body: `<StorageServiceProperties>${properties}</StorageServiceProperties>`,
    });
    for (const name of ['index.html', 'a/index.html']) {
      await wire.expect(201, { method: 'PUT', path: `/$web/${name}`, headers: block, body: name });
    }
    const page = async (path: string): Promise<string> => {
      const host = `devstoreaccount1.web.localhost:${port}`;
      const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const { text } = await sendUntilClosed(port, Buffer.from(head));
      return / (\d{3}) /.exec(text)?.[1] ?? text;
    };
    const statuses = async (): Promise<string[]> => {
      const found: string[] = [];
      for (const path of ['/', '/a/', '/index.html']) found.push(await page(path));
      return found;
    };
    assert.deepEqual(await statuses(), ['200', '200', '200']);
    const effect = { kind: 'error', code: 'ServerBusy' };
    await world.control('PUT', '/faults', [{ operation: 'GetWebContent', effect }]);
    assert.deepEqual(await statuses(), ['503', '503', '503']);
    await world.control('PUT', '/faults', [{ container: '$web', blob: 'a/*', effect }]);
    assert.deepEqual(await statuses(), ['200', '503', '200']);
    await world.control('PUT', '/faults', []);
    await world.control('PUT', '/throttle', { requestsPerSecondPerBlob: 1 });
    assert.deepEqual(await statuses(), ['200', '200', '200']);
    assert.deepEqual(await statuses(), ['200', '503', '503']);
    await world.control('PUT', '/throttle', { requestsPerSecondPerAccount: 1 });
    assert.deepEqual(await statuses(), ['200', '503', '503']);
  });
});
