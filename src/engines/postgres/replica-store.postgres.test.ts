import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { openReplicaStore } from './replica-store.js';

void describe('a store over standbys', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  it('prepares no statement when its address asks for that', async () => {
    const { url } = server();
    // Shows how many statements the connection that reads it has prepared.
    await runSql(
      url,
      `create schema counting; create view counting.kv_meta as
        select 'heartbeat' as name, (select count(*)::text from pg_prepared_statements) as value`,
    );
    for (const [address, prepared] of [
      [url, 1],
      [`${url}?prepare=false`, 0],
    ] as const) {
      const store = openReplicaStore({ url: address, schema: 'counting' });
      assert.deepEqual(await store.synchrony(), { status: 'live', lastSyncMicros: prepared });
      await store.close();
    }
  });
});
