import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { describe } from 'node:test';
import { postgresUnderTest, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { quoted } from './statements.js';
import { openPostgresStore } from './store.js';

const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const dayMicros = 86_400_000_000;

function put(store: Store, name: string, version?: 'present') {
  const key = Buffer.concat([prefix, Buffer.from(name)]);
  const checks = version === undefined ? [] : [{ key, version }];
  return store.commit({ checks, puts: [{ key, value: Buffer.from(name) }], deletes: [] });
}

void describe('the rows of sessions', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  /** A store whose connections break behind `work`, with the rows of its sessions gone. */
  async function withoutRows(work: (store: Store) => Promise<unknown>, laterMicros = 0) {
    let aheadMicros = 0;
    const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + aheadMicros };
    const { store, schema, dispose } = await postgresUnderTest({ url: server().url, clock });
    try {
      await work(store);
      await runSql(server().url, `delete from ${quoted(schema)}.kv_session`);
      aheadMicros = laterMicros;
      await server().stop('SIGQUIT');
      await server().start();
      return await put(store, 'after').catch(String);
    } finally {
      await dispose();
    }
  }

  it('show a loss when the row of an acknowledged batch is missing', async () => {
    const result = await withoutRows((store) => put(store, 'row'));
    assert.match(inspect(result), /Commits are lost/);
  });

  it('show no loss when only failed checks were acknowledged', async () => {
    const result = await withoutRows(async (store) => {
      assert.equal((await put(store, 'row', 'present')).ok, false);
    });
    assert.ok(typeof result === 'object' && result.ok, inspect(result));
  });

  it('show no loss after a day, when they may have been removed', async () => {
    const result = await withoutRows((store) => put(store, 'row'), dayMicros);
    assert.ok(typeof result === 'object' && result.ok, inspect(result));
  });

  it('are closed after an hour without a batch and removed two days later, whoever uses them goes on', async () => {
    const { url } = server();
    const { store, schema, dispose } = await postgresUnderTest({ url, clock: systemClock });
    const table = `${quoted(schema)}.kv_session`;
    const openAnother = async () =>
      (await openPostgresStore({ url, schema, clock: systemClock })).close();
    const states = async () =>
      JSON.stringify(await runSql(url, `select closed from ${table} order by session`));
    await put(store, 'row');
    await runSql(url, `update ${table} set seen = now() - interval '59 minutes'`);
    await openAnother();
    assert.equal(await states(), '[{"closed":false}]');
    await runSql(url, `update ${table} set seen = now() - interval '61 minutes'`);
    await openAnother();
    assert.equal(await states(), '[{"closed":true}]');
    // As old as it was when it was closed it is young again.
    await runSql(url, `update ${table} set seen = seen - interval '47 hours'`);
    await openAnother();
    assert.equal(await states(), '[{"closed":true}]');
    assert.equal((await put(store, 'more')).ok, true);
    await runSql(url, `update ${table} set seen = seen - interval '2 hours' where closed`);
    await openAnother();
    assert.equal(await states(), '[{"closed":false}]');
    assert.equal((await put(store, 'further')).ok, true);
    await dispose();
  });
});
