import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { AwayFailure, CommandFailure, UsageError } from '../terminal/failure.js';
import { ControlClient } from './control-client.js';

/** Asks a server that answers every request in this way. */
async function askOf(status: number, body: string, path = 'any'): Promise<unknown> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'Content-Type': 'text/plain' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = new ControlClient(port, 'or do without');
  try {
    return await (path === 'found' ? client.find(path) : client.ask('POST', path));
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

describe('a client of the control API', () => {
  it('gives the answer, and throws what is refused or failed by its words', async () => {
    assert.deepEqual(await askOf(200, '{"moved":1}'), { moved: 1 });
    assert.equal(await askOf(404, '{"error":"There is no job 7."}', 'found'), undefined);
    const refused = new UsageError('There is no range 7.');
    await assert.rejects(askOf(400, '{"error":"There is no range 7."}'), refused);
    const failed = new CommandFailure('The disk is full.');
    await assert.rejects(askOf(500, '{"error":"The disk is full."}'), failed);
    const away = askOf(503, '{"error":"The store is away."}');
    await assert.rejects(away, (error) => error instanceof AwayFailure);
  });

  it('says that something else listens where the answer is none of the API', async () => {
    const answers: readonly (readonly [number, string])[] = [
      [200, '<html></html>'],
      [400, '<?xml version="1.0"?><Error/>'],
      [403, '{"error":{"code":"AuthorizationFailure"}}'],
      [500, 'null'],
    ];
    for (const [status, body] of answers) {
      await assert.rejects(askOf(status, body), (error: unknown) => {
        assert.ok(error instanceof CommandFailure, body);
        const expected =
          /^What listens at http:\/\/127\.0\.0\.1:\d+ is not the control API of a server: it /;
        assert.match(error.message, expected);
        assert.ok(error.message.includes(`answered with ${status} `));
        return true;
      });
    }
    await assert.rejects(askOf(404, '<html></html>', 'found'), /is not the control API/);
  });

  it('sends content with every method', async () => {
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const body = Buffer.concat(pieces).toString();
        response.end(JSON.stringify({ method: request.method, body }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = new ControlClient(port, 'or do without');
    for (const method of ['DELETE', 'GET', 'POST', 'PUT']) {
      const found = await client.ask(method, 'any', { name: 'é' });
      assert.deepEqual(found, { method, body: '{"name":"é"}' });
    }
    assert.deepEqual(await client.ask('DELETE', 'any'), { method: 'DELETE', body: '' });
    server.close();
    server.closeAllConnections();
  });

  it('asks any port, also one that a browser would leave to another protocol', async () => {
    // As port 10080, which is no privileged one.
    const asked = new ControlClient(1, 'or do without').ask('GET', 'any');
    await assert.rejects(asked, /^CommandFailure: Nothing listens at http:\/\/127\.0\.0\.1:1\. /);
  });
});
