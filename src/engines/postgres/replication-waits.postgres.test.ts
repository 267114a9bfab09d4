import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { postgresUnderTest, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { systemClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { quoted } from './statements.js';

const prefix = partitionPrefix('tables', 'account', 1, 'partition');

function put(store: Store, name: string) {
  const key = Buffer.concat([prefix, Buffer.from(name)]);
  return store.commit({ checks: [], puts: [{ key, value: Buffer.from(name) }], deletes: [] });
}

void describe('a commit that waits for a synchronous standby', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  for (const commitForm of ['function', 'transaction'] as const) {
    it(`is acknowledged although functions of others warn of each statement (${commitForm})`, async () => {
      const { url } = server();
      const { store, schema, dispose } = await postgresUnderTest({
        url,
        clock: systemClock,
        commitForm,
      });
      const own = quoted(schema);
      await runSql(
        url,
        `create function ${own}.warns() returns trigger language plpgsql as
          $$ begin raise warning 'look at %', tg_op; return null; end $$;
        create trigger warns after insert or update on ${own}.kv
          for each statement execute function ${own}.warns();
        create trigger warns after insert or update on ${own}.kv_session
          for each statement execute function ${own}.warns()`,
      );
      for (const name of ['one', 'two', 'three']) assert.ok((await put(store, name)).ok);
      // A batch whose outcome is in doubt closes its session.
      const closed = `select from ${own}.kv_session where closed`;
      assert.equal((await runSql(url, closed)).length, 0);
      await dispose();
    });

    for (const ends of ['pg_cancel_backend', 'pg_terminate_backend'] as const) {
      it(`is not acknowledged when ${ends} ends the wait (${commitForm})`, async (t) => {
        const { url } = server();
        const standbys = async (names: string) => {
          await runSql(url, `alter system set synchronous_standby_names = '${names}'`);
          await runSql(url, 'select pg_reload_conf()');
        };
        const under = await postgresUnderTest({ url, clock: systemClock, commitForm });
        const { store } = under;
        await put(store, 'before');
        t.after(() => standbys(''));
        await standbys('nobody');
        const begin = () => {
          const ended = new AbortController();
          return { ended, written: put(store, 'meanwhile').finally(() => ended.abort()) };
        };
        let writing = begin();
        const former: unknown[] = [];
        /** The next process that waits, but those that have waited before. */
        const waiting = async () => {
          for (;;) {
            if (writing.ended.signal.aborted) {
              assert.equal(former.length, 0, 'it was acknowledged');
              // The database takes up a reloaded setting a moment later.
              writing = begin();
            }
            const text = `select pid from pg_stat_activity where wait_event = 'SyncRep'`;
            const pids = (await runSql(url, text)).map((row) => Reflect.get(Object(row), 'pid'));
            const found = pids.find((pid) => !former.includes(pid));
            if (found !== undefined) {
              former.push(found);
              return found as number;
            }
            await pause(5);
          }
        };
        // Another connection asks for the outcome: the answer waits for the standby as well. When
        // that wait is ended too, the next one asks.
        for (const _ of ['batch', 'outcome']) {
          await runSql(url, `select ${ends}(${await waiting()})`);
        }
        await waiting();
        await standbys('');
        assert.ok((await writing.written).ok);
        assert.equal(store.trouble(), undefined);
        await under.dispose();
      });
    }
  }
});
