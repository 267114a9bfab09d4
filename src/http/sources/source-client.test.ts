import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { systemTimers, type Timers } from '../../base/async/timers.js';
import { manualClock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { SourceClient, type Lookup } from './source-client.js';

let asked = 0;
const web = createServer(({ url }, response) => {
  asked += 1;
  if (url === '/silent') response.writeHead(200, { 'content-length': 9 }).write('x');
  else if (url !== '/deaf') response.end('hello');
});
web.listen(0, '127.0.0.1');
await once(web, 'listening');
const { port } = web.address() as AddressInfo;
after(() => {
  web.closeAllConnections();
  web.close();
});

function clientWith({
  privateNetworks = true,
  hosts = ['*:*'],
  lookup = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
  timers = systemTimers,
}: {
  readonly privateNetworks?: boolean;
  readonly hosts?: readonly string[];
  readonly lookup?: Lookup;
  readonly timers?: Timers;
} = {}): SourceClient {
  const rules = { hosts, privateNetworks, bytesMax: Infinity };
  return new SourceClient({
    rules,
    clock: manualClock(),
    timers,
    randomness: systemRandomness,
    lookup,
  });
}

const ask = (client: SourceClient, url: string) => client.ask({ url, headers: {} });

async function statusOf(work: Promise<unknown>): Promise<number> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof StorageError && error.code === 'CannotVerifyCopySource');
    assert.ok(!JSON.stringify(error.details).includes('127.0.0'), 'no address is told');
    return error.status;
  }
  throw new Error('nothing was refused');
}

describe('the client for sources', () => {
  it('asks the address that was checked, and resolves no name twice', async () => {
    let lookups = 0;
    const lookup = () => {
      lookups += 1;
      return Promise.resolve([{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]);
    };
    const answer = await ask(clientWith({ lookup }), `http://store.example:${port}/`);
    const pieces: Buffer[] = [];
    for await (const piece of answer.body) pieces.push(piece);
    assert.deepEqual([Buffer.concat(pieces).toString(), lookups], ['hello', 1]);
  });

  it('refuses names of which one address is private, and every spelling of such an address', async () => {
    const before = asked;
    const client = clientWith({
      privateNetworks: false,
      lookup: () =>
        Promise.resolve([
          { address: '1.1.1.1', family: 4 },
          { address: '::ffff:127.0.0.1', family: 6 },
        ]),
    });
    for (const host of [
      'store.example',
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '017700000001',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::]',
      '0.0.0.0',
      '0',
      '169.254.169.254',
    ]) {
      assert.equal(await statusOf(ask(client, `http://${host}:${port}/`)), 403, host);
    }
    assert.equal(asked, before);
  });

  it('refuses other schemes, credentials, hosts and ports before it resolves a name', async () => {
    const client = clientWith({
      hosts: ['store.example'],
      lookup: () => assert.fail('nothing is resolved'),
    });
    for (const url of [
      'ftp://store.example/',
      'file:///etc/passwd',
      'http://user:word@store.example/',
      'http://store.example@127.0.0.1/',
      'http://store.example.evil/',
      'http://store.example:22/',
    ]) {
      assert.equal(await statusOf(ask(client, url)), 403, url);
    }
  });

  it('lets go of a source that does not answer, or stops sending', async () => {
    const timers = manualTimers();
    const client = clientWith({ timers });
    const waiting = statusOf(ask(client, `http://store.example:${port}/deaf`));
    await once(web, 'request');
    timers.fire();
    assert.equal(await waiting, 500);
    const answer = await ask(client, `http://store.example:${port}/silent`);
    const pieces = answer.body[Symbol.asyncIterator]();
    assert.equal((await pieces.next()).value?.toString(), 'x');
    const next = statusOf(pieces.next());
    timers.fire();
    assert.equal(await next, 500);
    assert.equal(timers.waiting, 0);
  });

  it('takes a bounded number of answers at a time', async () => {
    const client = clientWith();
    const url = `http://store.example:${port}/silent`;
    const open = await Promise.all(Array.from({ length: 64 }, () => ask(client, url)));
    await assert.rejects(
      ask(client, url),
      (error) => error instanceof StorageError && error.code === 'ServerBusy',
    );
    for (const each of open) each.close();
    const again = await ask(client, url);
    again.close();
  });

  it('sends what it is given, and no credential of its own', async () => {
    const request = once(web, 'request') as Promise<[{ headers: object }, ServerResponse]>;
    const client = clientWith();
    const url = `http://store.example:${port}/`;
    const answer = await client.ask({ url, headers: { 'x-ms-version': '2021-12-02' } });
    answer.close();
    const [{ headers }] = await request;
    assert.deepEqual(headers, {
      host: `store.example:${port}`,
      'x-ms-version': '2021-12-02',
      'accept-encoding': 'identity',
      connection: 'close',
    });
  });
});
