import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { queueRoutes } from '../../src/http/queues/routes.js';
import { tableRoutes } from '../../src/http/tables/routes.js';
import { hostileQueueRequests } from './hostile-queues.js';
import type { HostileRequest } from './hostile-request.js';
import { hostileTableRequests } from './hostile-tables.js';

function assertCovered(
  requests: readonly HostileRequest[],
  routes: readonly { readonly name: string }[],
): void {
  const covered = new Set(requests.map(({ operation }) => operation));
  assert.deepEqual([...covered].sort(), [...new Set(routes.map(({ name }) => name))].sort());
}

describe('the benchmark of stalls', () => {
  it('has a hostile request for each operation of tables', () => {
    assertCovered(hostileTableRequests, tableRoutes);
  });

  it('has a hostile request for each operation of queues', () => {
    assertCovered(hostileQueueRequests, queueRoutes);
  });

  it('sends nothing that is refused for its size alone', () => {
    for (const { operation, what, body = '', path } of [
      ...hostileTableRequests,
      ...hostileQueueRequests,
    ]) {
      assert.ok(Buffer.byteLength(body) <= 4 << 20, `${operation}: ${what}`);
      assert.ok(path.length <= 64_000, `${operation}: ${what}`);
    }
  });
});
