import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blobRoutes } from '../../src/http/blobs/routes.js';
import type { ServiceRoute, RoutedRequest } from '../../src/http/operations/route.js';
import { queueRoutes } from '../../src/http/queues/routes.js';
import { tableRoutes } from '../../src/http/tables/routes.js';
import { rowsUnder } from '../support/compatibility-page.js';
import { startServer, type StartedServer } from '../support/start-server.js';
import { WireClient } from '../wire/kit/client.js';
import { BlobWireClient } from '../wire/kit/blob-client.js';
import { QueueWireClient } from '../wire/kit/queue-client.js';
import type { WireResponse } from '../wire/kit/response.js';
import type { WireRequest } from '../wire/kit/signing-client.js';

// The operations of docs/reference/compatibility.md, held against the routes and against a server.

interface DocumentedOperation {
  readonly name: string;
  readonly request: string;
  readonly state: string;
}

/** The operations of a service. */
function documentedOperations(service: 'tables' | 'queues' | 'blobs'): DocumentedOperation[] {
  return rowsUnder(`Operations of ${service}`).map(([name = '', request = '', state = '']) => ({
    name,
    request,
    state,
  }));
}

function summary(name: string, methods: readonly string[]): string {
  return `${name}: ${methods.toSorted().join(' ')}`;
}

function methodsIn(request: string): string[] {
  return [...request.matchAll(/`([A-Z]+)\b/g)].map(([, method = '']) => method);
}

/** The requests for an operation, as its row of the page says: one for each method. */
function examplesOf({ request }: DocumentedOperation): WireRequest[] {
  const written = /`[A-Z]+ (\S+)`/.exec(request)?.[1] ?? '/';
  const path = written.replace('name', 'people').replaceAll('…', '1');
  const named = [...request.matchAll(/`(x-ms-[a-z-]+): (\w+)`/g)];
  const headers = {
    ...(request.includes('If-Match') ? { 'If-Match': '*' } : {}),
    ...Object.fromEntries(named.map(([, name, value]) => [name, value])),
  };
  return methodsIn(request).map((method) => ({ method, path, headers }));
}

function assertListed<R extends RoutedRequest>(
  documented: readonly DocumentedOperation[],
  routes: readonly ServiceRoute<R>[],
): void {
  const listed = documented.map(({ name, request }) => summary(name, methodsIn(request)));
  const routed = routes.map(({ name, methods }) => summary(name, methods));
  assert.deepEqual(listed.toSorted(), routed.toSorted());
}

/** The names in records of a get and a peek of one message. */
const recordedAs: Readonly<Record<string, string>> = {
  GetMessages: 'GetMessage',
  PeekMessages: 'PeekMessage',
};

/**
 * Checks that each request of the page is routed to the operation of its row, and not answered by
 * 501.
 */
async function assertServed(
  documented: readonly DocumentedOperation[],
  started: StartedServer,
  send: (request: WireRequest) => Promise<WireResponse>,
): Promise<void> {
  let sent = 0;
  for (const operation of documented) {
    for (const example of examplesOf(operation)) {
      const { status } = await send(example);
      sent += 1;
      await started.recorded(sent);
      const { name } = operation;
      assert.equal(started.records[sent - 1]?.operation, recordedAs[name] ?? name);
      assert.equal(status === 501, operation.state === 'absent', `${name}: ${status}`);
    }
  }
}

describe('the page of operations', () => {
  it('lists every route of tables with its methods, and nothing else', () => {
    assertListed(documentedOperations('tables'), tableRoutes);
  });

  it('lists every route of queues with its methods, and nothing else', () => {
    assertListed(documentedOperations('queues'), queueRoutes);
  });

  it('lists every route of blobs with its methods, and nothing else', () => {
    assertListed(documentedOperations('blobs'), blobRoutes);
  });

  it('writes requests that the server takes for the operations, of tables', async () => {
    await using started = await startServer();
    const client = WireClient.of(started.server);
    await assertServed(documentedOperations('tables'), started, (request) => client.send(request));
    client.close();
  });

  it('writes requests that the server takes for the operations, of queues', async () => {
    await using started = await startServer();
    const client = QueueWireClient.of(started.server);
    await assertServed(documentedOperations('queues'), started, (request) => client.send(request));
    client.close();
  });

  it('writes requests that the server takes for the operations, of blobs', async () => {
    await using started = await startServer();
    const client = BlobWireClient.of(started.server);
    await assertServed(documentedOperations('blobs'), started, (request) => client.send(request));
    client.close();
  });

  it('says what records call a get and a peek, by the count that was asked for', async () => {
    await using started = await startServer();
    const client = QueueWireClient.of(started.server);
    const queue = await client.newQueue();
    for (const query of [
      '',
      '?numofmessages=2',
      '?peekonly=true',
      '?peekonly=true&numofmessages=2',
    ])
      await client.expect(200, { path: `/${queue}/messages${query}` });
    client.close();
    await started.recorded(5);
    const [, ...records] = started.records;
    assert.deepEqual(
      records.map(({ operation, resource }) => [operation, resource]),
      ['GetMessage', 'GetMessages', 'PeekMessage', 'PeekMessages'].map((name) => [name, queue]),
    );
  });
});
