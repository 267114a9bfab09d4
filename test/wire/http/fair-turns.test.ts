import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { RawConnection, send, signedRequest } from '../../support/raw-http.js';
import { startServer, type StartedServer } from '../../support/start-server.js';
import { costly } from '../../support/run-length.js';

const account = '/devstoreaccount1';
const greedyClients = 16;
/** Some of the large requests may be done before the small one arrives. */
const aheadMax = greedyClients / 2;

/** The position of the last request's response, when all requests are sent in one write. */
async function placeOfLast(started: StartedServer, requests: readonly Sent[]): Promise<number> {
  const connections = requests.map(({ port }) => new RawConnection(port));
  await Promise.all(connections.map(connected));
  const before = started.records.length;
  for (const [place, { bytes }] of requests.entries()) connections[place]?.write(bytes);
  await started.recorded(before + requests.length);
  for (const connection of connections) connection[Symbol.dispose]();
  const last = requests.at(-1)?.operation;
  return started.records.slice(before).findIndex(({ operation }) => operation === last);
}

interface Sent {
  readonly port: number;
  readonly bytes: Buffer;
  readonly operation: string;
}

function connected({ socket }: RawConnection): Promise<void> {
  return new Promise((resolve) => socket.once('connect', () => resolve()));
}

describe('a small request behind large ones of many clients', () => {
  let started: StartedServer;
  before(async () => {
    started = await startServer();
    const { tablePort } = started.server;
    const created = { method: 'POST', target: `${account}/Tables`, body: '{"TableName":"fair"}' };
    assert.equal((await send(tablePort, created)).status, 201);
  });
  after(() => started[Symbol.asyncDispose]());

  const small = (): Sent => {
    const target = `${account}/Tables('fair')`;
    const bytes = signedRequest({ target });
    return { port: started.server.tablePort, bytes, operation: 'GetTable' };
  };
  const greedy = (operation: string, request: Parameters<typeof signedRequest>[0]): Sent[] =>
    Array.from({ length: greedyClients }, () => {
      return { port: started.server.tablePort, bytes: signedRequest(request), operation };
    });

  it('does not wait for all their filters', costly(), async () => {
    const terms = Array.from({ length: 2_000 }, (_, place) => `P${place} eq ${place}`);
    const filter = encodeURIComponent(terms.join(' or '));
    const target = `${account}/fair()?$filter=${filter}`;
    const place = await placeOfLast(started, [...greedy('QueryEntities', { target }), small()]);
    assert.ok(place >= 0 && place <= aheadMax, `${place} were answered before it`);
  });

  it('does not wait for all their bodies', async () => {
    const nulls = Array.from({ length: 5_000 }, (_, place) => `"p${place}":null`).join();
    const body = `{"PartitionKey":"p","RowKey":"r",${nulls}}`;
    const request = { method: 'POST', target: `${account}/fair`, body };
    const place = await placeOfLast(started, [...greedy('InsertEntity', request), small()]);
    assert.ok(place >= 0 && place <= aheadMax, `${place} were answered before it`);
  });
});
