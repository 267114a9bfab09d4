import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TableClient } from '@azure/data-tables';
import {
  connectionStringOf,
  startCli,
  stopCli,
  temporaryDirectory,
} from '../../../../test/support/cli-server.js';
import { startServer } from '../../../../test/support/start-server.js';
import { costly } from '../../../../test/support/run-length.js';

const insecure = { allowInsecureConnection: true };
const hourTable = '$MetricsHourPrimaryTransactionsTable';

describe('metrics of several processes', () => {
  it('are sums over all of them', costly(), async () => {
    await using directory = await temporaryDirectory();
    const location = directory.path;
    const workers = await startCli(['--workers', '2', '--location', location]);
    await workers.printed('"msg":"a worker listens"', 2);
    const connection = connectionStringOf(workers);
    // Clients that share no connection, so that each worker gets some of them.
    const entities = Array.from({ length: 40 }, async (_, row) => {
      const agent = { Connection: 'close' };
      const client = TableClient.fromConnectionString(connection, 'shared', insecure);
      await client.createEntity(
        { partitionKey: 'p', rowKey: `${row}` },
        { requestOptions: { customHeaders: agent } },
      );
    });
    const results = await Promise.allSettled(entities);
    assert.ok(
      results.every(({ status }) => status === 'rejected'),
      'there is no table',
    );
    assert.equal(await stopCli(workers), 0);

    await using alone = await startServer({ location });
    const metrics = TableClient.fromConnectionString(
      alone.server.connectionString(),
      hourTable,
      insecure,
    );
    let requests = 0n;
    const filter = "RowKey eq 'user;InsertEntity'";
    for await (const row of metrics.listEntities({ queryOptions: { filter } })) {
      requests += row['TotalRequests'] as bigint;
    }
    assert.equal(requests, 40n);
  });
});
