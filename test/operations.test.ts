import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { ServiceRoute, RoutedRequest } from '../src/http/operations/route.js';
import { queueRoutes } from '../src/http/queues/routes.js';
import { tableRoutes } from '../src/http/tables/routes.js';
import { send } from './support/raw-http.js';
import { startServer } from './support/start-server.js';
import { QueueWireClient } from './wire/kit/queue-client.js';

// docs/reference/operations.md says which operations there are. Here it is held against the routes
// and against a server.

const page = readFileSync(new URL('../../docs/reference/operations.md', import.meta.url), 'utf8');

interface DocumentedOperation {
  readonly name: string;
  readonly request: string;
  readonly state: string;
}

/** The rows in the section of a service. */
function documentedOperations(service: 'Tables' | 'Queues'): DocumentedOperation[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${service}\n`)) ?? '';
  return [...section.matchAll(/^\| (\w+) +\| (.+?) +\| (supported|not yet) +\|$/gm)].map(
    ([, name = '', request = '', state = '']) => ({ name, request, state }),
  );
}

function summary(name: string, state: string, methods: readonly string[]): string {
  return `${name}: ${methods.toSorted().join(' ')}, ${state}`;
}

function methodsIn(request: string): string[] {
  return [...request.matchAll(/`([A-Z]+)\b/g)].map(([, method = '']) => method);
}

/** A request that means the operation, as its row of the page says. */
function exampleOf({ request }: DocumentedOperation): { method: string; path: string } {
  const [method = ''] = methodsIn(request);
  const path = /`[A-Z]+ (\S+)`/.exec(request)?.[1] ?? '/';
  return { method, path: path.replace('name', 'people').replaceAll('…', '1') };
}

function assertListed<R extends RoutedRequest>(
  documented: readonly DocumentedOperation[],
  routes: readonly ServiceRoute<R>[],
): void {
  const listed = documented.map(({ name, state, request }) =>
    summary(name, state, methodsIn(request)),
  );
  const routed = routes.map(({ name, state, methods }) => summary(name, state, methods));
  assert.deepEqual(listed.toSorted(), routed.toSorted());
}

async function assertAnswered(
  documented: readonly DocumentedOperation[],
  statusOf: (operation: DocumentedOperation) => Promise<number>,
): Promise<void> {
  for (const operation of documented) {
    const status = await statusOf(operation);
    assert.equal(status === 501, operation.state === 'not yet', `${operation.name}: ${status}`);
  }
}

describe('the page of operations', () => {
  it('lists every route of tables with its methods and its state, and nothing else', () => {
    assertListed(documentedOperations('Tables'), tableRoutes);
  });

  it('lists every route of queues with its methods and its state, and nothing else', () => {
    assertListed(documentedOperations('Queues'), queueRoutes);
  });

  it('calls not yet exactly what the server answers 501 for tables', async () => {
    await using started = await startServer();
    const port = started.server.tablePort;
    await assertAnswered(documentedOperations('Tables'), async (operation) => {
      const { method, path } = exampleOf(operation);
      const headers = { 'If-Match': operation.request.includes('If-Match') ? '*' : undefined };
      const target = `/devstoreaccount1${path}`;
      return (await send(port, { method, target, headers })).status;
    });
  });

  it('calls not yet exactly what the server answers 501 for queues', async () => {
    await using started = await startServer();
    const client = new QueueWireClient(started.server.queuePort);
    await assertAnswered(documentedOperations('Queues'), async (operation) => {
      const { status } = await client.send(exampleOf(operation));
      return status;
    });
    client.close();
  });

  it('says what records call a get and a peek, by the count that was asked for', async () => {
    await using started = await startServer();
    const client = new QueueWireClient(started.server.queuePort);
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
