import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startCuttingProxy } from '../../../test/support/cutting-proxy.js';
import { runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { openReplicaStore } from './replica-store.js';

void describe('a store over standbys', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  it('reads one standby alone when the one before takes no more connections', async () => {
    const { url } = server();
    await runSql(
      url,
      `create schema moving; create table moving.kv_meta (name text primary key, value text);
      insert into moving.kv_meta values ('heartbeat', '1')`,
    );
    const target = new URL(url);
    await using first = await startCuttingProxy(Number(target.port));
    await using second = await startCuttingProxy(Number(target.port));
    const hosts = [first, second].map(({ port }) => `${target.hostname}:${port}`).join();
    const address = url.replace(target.host, hosts);
    const store = openReplicaStore({ url: address, schema: 'moving' });
    const read = () => store.synchrony();
    const live = { status: 'live', lastSyncMicros: 1 };
    assert.deepEqual(await read(), live);
    // The proxy notices the end of a connection a moment later, so the first one may be counted.
    for (let turn = 0; turn < 100 && first.open > 1; turn += 1) await pause(10);
    assert.deepEqual([first.open, second.open], [1, 0]);
    first.refuse();
    for (let reads = 0; reads < 4; reads += 1) assert.deepEqual(await read(), live);
    for (let turn = 0; turn < 100 && first.open + second.open > 2; turn += 1) await pause(10);
    assert.deepEqual([first.open, second.open], [0, 2]);
    await store.close();
  });

  it('prepares no statement when its address asks for that', async () => {
    const { url } = server();
    // Shows how many statements the connection that reads it has prepared.
    await runSql(
      url,
      `create schema counting; create view counting.kv_meta as
        select 'heartbeat' as name, (select count(*)::text from pg_prepared_statements) as value`,
    );
    for (const [address, prepared] of [
      // The other one asks for the process of the connection.
      [url, 2],
      [`${url}?prepare=false`, 0],
    ] as const) {
      const store = openReplicaStore({ url: address, schema: 'counting' });
      assert.deepEqual(await store.synchrony(), { status: 'live', lastSyncMicros: prepared });
      await store.close();
    }
  });
});
