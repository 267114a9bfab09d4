import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Client } from 'pg';
import { lockWaits, postgresUnderTest, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { CommitResult, Store } from '../../kv/store.js';
import { quoted } from './statements.js';

function keyOf(row: string, partition = 'p'): Buffer {
  return Buffer.concat([partitionPrefix('tables', 'account', 1, partition), Buffer.from(row)]);
}

/** A commit that does nothing but insert rows. */
function insert(store: Store, ...keys: readonly Buffer[]): Promise<CommitResult> {
  return store.commit({
    checks: keys.map((key) => ({ key, version: 'absent' })),
    puts: keys.map((key) => ({ key, value: key })),
    deletes: [],
  });
}

function versionOf(result: CommitResult): number {
  assert.ok(result.ok, JSON.stringify(result));
  return result.version;
}

void describe('commits that only insert', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  for (const commitForm of ['function', 'transaction'] as const) {
    it(`are applied whole or not at all when they share a batch, by ${commitForm}`, async () => {
      const options = { url: server().url, clock: systemClock, commitForm };
      const { store, dispose } = await postgresUnderTest(options);
      const there = [
        versionOf(await insert(store, keyOf('there'))),
        versionOf(await insert(store, keyOf('there', 'q'))),
        versionOf(await insert(store, keyOf('there as well'))),
      ];
      const results = await Promise.all([
        insert(store, keyOf('a'), keyOf('b')),
        insert(store, keyOf('c'), keyOf('there'), keyOf('d'), keyOf('there as well')),
        insert(store, keyOf('there', 'q')),
        insert(store, keyOf('e', 'q')),
      ]);
      const first = versionOf(results[0]);
      assert.deepEqual(results, [
        { ok: true, version: first },
        { ok: false, failedCheck: 1, actual: there[0] },
        { ok: false, failedCheck: 0, actual: there[1] },
        { ok: true, version: first + 3 },
      ]);
      assert.equal(store.stats().syncs, 4);
      const names = ['a', 'b', 'c', 'd', 'there'];
      const found = await store.getMany(names.map((name) => keyOf(name)));
      assert.deepEqual(
        found.map((entry) => entry?.version),
        [first, first, undefined, undefined, there[0]],
      );
      await dispose();
    });
  }

  it('get versions that rise in each of their partitions when the clock goes back', async () => {
    let behindMicros = 0;
    const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() - behindMicros };
    const { store, dispose } = await postgresUnderTest({ url: server().url, clock });
    const before = versionOf(await insert(store, keyOf('first')));
    behindMicros = 3_600_000_000;
    const [again = 0, other = 0] = (
      await Promise.all([insert(store, keyOf('second')), insert(store, keyOf('first', 'q'))])
    ).map(versionOf);
    assert.ok(again > before);
    assert.ok(versionOf(await insert(store, keyOf('second', 'q'))) > other);
    assert.ok(versionOf(await insert(store, keyOf('third'))) > again);
    await dispose();
  });

  it('are not applied by a session that was closed, and by the next one once', async () => {
    const { url } = server();
    const { store, schema, dispose } = await postgresUnderTest({ url, clock: systemClock });
    await insert(store, keyOf('first'));
    const name = quoted(schema);
    await runSql(url, `update ${name}.kv_session set closed = true`);
    const late = `select ${name}.insert_batch(session, batch + 1, 1, 1, '{0}', '{1}',
      array['\\x01'::bytea], array['\\x02'::bytea]) from ${name}.kv_session`;
    await assert.rejects(runSql(url, late), /The session was closed/);
    assert.deepEqual(await runSql(url, `select from ${name}.kv where key = '\\x01'`), []);
    assert.equal((await insert(store, keyOf('second'))).ok, true);
    assert.equal((await store.get(keyOf('second')))?.value.length, keyOf('second').length);
    await dispose();
  });

  it('lock slots in the order of other commits, whatever the planner would do', async () => {
    const { url } = server();
    const { schema, dispose } = await postgresUnderTest({ url, clock: systemClock });
    const name = quoted(schema);
    const [held, other] = [new Client(url), new Client(url)];
    await Promise.all([held.connect(), other.connect()]);
    // The rows of these slots lie behind others now.
    await held.query(`update ${name}.kv_slot set last = 1 where slot < 8; analyze ${name}.kv_slot`);
    await held.query(`insert into ${name}.kv_session values (1, 0, false)`);
    await held.query(`begin; select from ${name}.kv_slot where slot = 16 for update`);
    const slots = Array.from({ length: 64 }, (_, slot) => slot);
    const inserted = other.query(
      `select ${name}.insert_batch(1, 1, 1, 1, '{${slots.join()}}', '{1}',
        array['\\x01'::bytea], array['\\x02'::bytea])`,
    );
    await lockWaits(url, schema, 1);
    const free = `select slot from ${name}.kv_slot order by slot for update skip locked limit 1`;
    assert.deepEqual(await runSql(url, free), [{ slot: 17 }]);
    await held.query('commit');
    await inserted;
    await Promise.all([held.end(), other.end()]);
    await dispose();
  });
});
