import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { tableRoutes } from '../src/http/tables/routes.js';
import type { TableRoute } from '../src/http/tables/route.js';
import { send } from './support/raw-http.js';
import { startServer } from './support/start-server.js';

// docs/reference/operations.md says which operations there are. Here it is held against the routes
// and against a server.

interface DocumentedOperation {
  readonly name: string;
  readonly request: string;
  readonly state: string;
}

function documentedOperations(): DocumentedOperation[] {
  const page = readFileSync(new URL('../../docs/reference/operations.md', import.meta.url), 'utf8');
  return [...page.matchAll(/^\| (\w+) +\| (.+?) +\| (supported|not yet) +\|$/gm)].map(
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
function exampleOf({ request }: DocumentedOperation): { method: string; target: string } {
  const [method = ''] = methodsIn(request);
  const path = /`[A-Z]+ (\S+)`/.exec(request)?.[1] ?? '/';
  return { method, target: `/devstoreaccount1${path.replace('name', 'people')}` };
}

describe('the page of operations', () => {
  const documented = documentedOperations();

  it('lists every route with its methods and its state, and nothing else', () => {
    const routed = tableRoutes.map(({ name, state, methods }: TableRoute) =>
      summary(name, state, methods),
    );
    const listed = documented.map(({ name, state, request }) =>
      summary(name, state, methodsIn(request)),
    );
    assert.deepEqual(listed.toSorted(), routed.toSorted());
  });

  it('calls not yet exactly what the server answers 501', async () => {
    await using started = await startServer();
    const port = started.server.tablePort;
    for (const operation of documented) {
      const { method, target } = exampleOf(operation);
      const headers = { 'If-Match': operation.request.includes('If-Match') ? '*' : undefined };
      const response = await send(port, { method, target, headers });
      assert.equal(
        response.status === 501,
        operation.state === 'not yet',
        `${operation.name}: ${method} ${target} answered ${response.status}`,
      );
    }
  });
});
