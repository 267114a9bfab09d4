import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { runLoad, runLoads, type Workload } from './load.js';

// The benchmark must reject responses that do not match the request.

const host = '127.0.0.1';
const account = { name: 'a', key: createSecretKey(Buffer.from('k')) };
const requests = 20;

describe('the load generator', () => {
  let server: Server;
  let port = 0;

  before(async () => {
    server = createServer((request, response) => {
      response.statusCode = request.url === '/missing' ? 404 : 200;
      response.end('row row row');
    });
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    const address = server.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  function load(path: string, occurrences: number): Promise<number> {
    let sent = 0;
    const workload: Workload = {
      next() {
        sent += 1;
        return sent > requests ? undefined : Buffer.from(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`);
      },
      status: 200,
      marker: 'row',
      occurrences,
    };
    const options = { connections: 3, warmupMs: 0, durationMs: Infinity };
    return runLoad({ host, port, account }, workload, options).then(() => sent);
  }

  it('sends a workload to its end', async () => {
    assert.ok((await load('/', 3)) > requests);
  });

  it('counts the units of a dialogue, and lets each answer decide what comes next', async () => {
    const seen: number[] = [0, 0];
    const workload: Workload = {
      next: (connection) =>
        (seen[connection] ?? 0) < 5 ? Buffer.from('GET / HTTP/1.1\r\nHost: h\r\n\r\n') : undefined,
      answered(connection, status) {
        assert.equal(status, 200);
        seen[connection] = (seen[connection] ?? 0) + 1;
        return 3;
      },
    };
    const options = { connections: 2, warmupMs: 0, durationMs: Infinity };
    const { requests: sent, units } = await runLoad({ host, port, account }, workload, options);
    assert.deepEqual({ sent, units, seen }, { sent: 10, units: 30, seen: [5, 5] });
  });

  it('measures one load and counts another beside it, on connections of its own', async () => {
    const endless = (path: string): Workload => ({
      next: () => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`),
      status: 200,
      marker: 'row',
      occurrences: 3,
    });
    const options = { connections: 1, warmupMs: 0, durationMs: 250 };
    const beside = { workload: endless('/beside'), connections: 2 };
    const target = { host, port, account };
    const pair = await runLoads(target, { measured: endless('/'), beside }, options);
    assert.ok(pair.requests > 0 && pair.requestsBeside > 0);
    assert.equal(pair.units, pair.requests);
    assert.equal((await runLoads(target, { measured: endless('/') }, options)).requestsBeside, 0);
    const failing = { ...beside, workload: endless('/missing') };
    const failed = runLoads(target, { measured: endless('/'), beside: failing }, options);
    await assert.rejects(failed, /got status 404/);
  });

  it('fails on a status that was not expected', async () => {
    await assert.rejects(load('/missing', 3), /got status 404/);
  });

  it('fails when rows are missing', async () => {
    await assert.rejects(load('/', 4), /got status 200 with 3: row row row/);
  });
});
