import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { dropSchema, lockWaits, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemTimers } from '../../base/async/timers.js';
import { systemClock } from '../../base/clock.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { Connection } from './connection.js';
import { statementsFor } from './statements.js';
import { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from './store.js';

const key = keyOf('row');

function keyOf(row: string): Buffer {
  return Buffer.concat([partitionPrefix('tables', 'account', 1, row), Buffer.from('row')]);
}

function put(store: PostgresStore, row: string) {
  const puts = [{ key: keyOf(row), value: Buffer.from(row) }];
  return store.commit({ checks: [], puts, deletes: [] });
}

/** Sets what connections that are open have to follow as well. */
async function reload(url: string, setting: string, value: string): Promise<void> {
  await runSql(url, `alter system set ${setting} = ${value}`);
  await runSql(url, 'select pg_reload_conf()');
  const shown = async () => Object.values((await runSql(url, `show ${setting}`))[0] ?? {});
  while ((await shown())[0] !== value) await pause(5);
}

void describe('a database that others have set up', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  /** A new database, opened by whoever has the settings. */
  async function open(
    name: string,
    settings: readonly string[],
    options: Pick<PostgresStoreOptions, 'commitForm'> = {},
  ): Promise<PostgresStore> {
    await runSql(server().url, `create database ${name}`);
    for (const setting of settings) {
      await runSql(server().url, `alter database ${name} set ${setting}`);
    }
    const url = new URL(server().url);
    url.pathname = name;
    return openPostgresStore({ url: url.href, clock: systemClock, ...options });
  }

  for (const commitForm of ['function', 'transaction'] as const) {
    it(`lacks no commit of nothing when a connection is opened (${commitForm})`, async () => {
      const store = await open(`empty_${commitForm}`, [], { commitForm });
      const { ok } = await store.commit({ checks: [], puts: [], deletes: [] });
      assert.ok(ok);
      // At once, so each opens a connection, which looks for lost commits.
      await Promise.all(Array.from({ length: 3 }, () => store.get(key)));
      assert.equal(store.trouble(), undefined);
      await store.close();
    });
  }

  it('is used with the settings that commits need, whatever those for others are', async () => {
    const store = await open('limited', [
      "default_transaction_isolation = 'serializable'",
      "statement_timeout = '1ms'",
      "lock_timeout = '1ms'",
      "idle_in_transaction_session_timeout = '1ms'",
      "client_min_messages = 'error'",
      "search_path = ''",
      "bytea_output = 'escape'",
    ]);
    const adds = [{ key, delta: 1 }];
    const additions = Array.from({ length: 40 }, async () => {
      await store.commit({ checks: [], puts: [], deletes: [], adds });
    });
    await Promise.all(additions);
    assert.equal(Buffer.from((await store.get(key))?.value ?? []).readBigInt64BE(), 40n);
    await store.close();
  });

  it('ends no commit for the limit of a transaction', async (t) => {
    const limit = "current_setting('transaction_timeout', true)";
    const [row] = await runSql(server().url, `select 1 where ${limit} is not null`);
    if (row === undefined) return t.skip('PostgreSQL has it since 17');
    const store = await open('timed', ["transaction_timeout = '300ms'"]);
    const url = new URL(server().url);
    url.pathname = 'timed';
    await put(store, 'before');
    const other = new Client(url.href);
    await other.connect();
    await other.query('set transaction_timeout = 0');
    await other.query('begin; select from tabularium.kv_slot for update');
    const written = put(store, 'meanwhile');
    await lockWaits(url.href, 'tabularium', 1);
    await pause(600);
    await other.end();
    assert.ok((await written).ok);
    const ended = 'select from tabularium.kv_session where closed';
    assert.equal((await runSql(url.href, ended)).length, 0);
    await store.close();
  });

  it('reads ranges in the order of the index, however few entries there are', async () => {
    const { url } = server();
    await (await openPostgresStore({ url, schema: 'planned', clock: systemClock })).close();
    const connection = await Connection.open({
      address: url,
      prepares: true,
      pipelines: false,
      isRelaxed: false,
      timers: systemTimers,
    });
    const { forward, backward } = statementsFor('planned');
    for (const { name, text } of [forward, backward]) {
      await connection.run(`prepare ${name} as ${text}`);
      const values = `'a', 'b', 100, 4096, 'a', 'b'`;
      const rows = await connection.query(
        { name: '', text: `explain execute ${name}(${values})` },
        [],
      );
      const plan = rows.map(([line]) => String(line)).join('\n');
      assert.match(plan, /Merge Append/);
      assert.match(plan, /Index Scan (?:Backward )?using kv_pkey on kv /);
      assert.doesNotMatch(plan, /Seq Scan/);
    }
    await connection.close();
  });

  for (const commitForm of ['function', 'transaction'] as const) {
    for (const prepares of [true, false]) {
      const how = `${commitForm}, ${prepares ? 'prepared' : 'not prepared'}`;
      it(`gets no commit that it would acknowledge before it is on disk (${how})`, async () => {
        const { url } = server();
        const options = { url, schema: 'synced', clock: systemClock, commitForm, prepares };
        const store = await openPostgresStore(options);
        // On each of the writing connections, which stay open.
        await Promise.all(Array.from({ length: 3 }, (_, at) => put(store, `before ${at}`)));
        for (const setting of ['synchronous_commit', 'fsync', 'full_page_writes']) {
          await reload(url, setting, 'off');
          const ended = new AbortController();
          const written = put(store, setting).finally(() => ended.abort());
          const isTold = () => store.trouble()?.message.includes(`${setting} is off`) === true;
          while (!isTold()) {
            assert.ok(!ended.signal.aborted, `${setting}: acknowledged`);
            await pause(5);
          }
          const there = `select from synced.kv where value = '${setting}'`;
          assert.equal((await runSql(url, there)).length, 0);
          await reload(url, setting, 'on');
          assert.ok((await written).ok);
          assert.equal(store.trouble(), undefined);
        }
        await store.close();
        await dropSchema(url, 'synced');
      });
    }
  }

  for (const commitForm of ['function', 'transaction'] as const) {
    it(`commits as was found although a reload comes before the commit (${commitForm})`, async () => {
      const { url } = server();
      const schema = 'reloaded';
      const store = await openPostgresStore({ url, schema, clock: systemClock, commitForm });
      // Deferred to the commit itself: behind the message that commits, which notices a reload.
      await runSql(
        url,
        `create table reloaded.seen (setting text);
        create function reloaded.see() returns trigger language plpgsql as $$ begin
          insert into reloaded.seen values (current_setting('synchronous_commit')); return null;
        end $$;
        create constraint trigger see after insert on reloaded.kv deferrable initially deferred
          for each row execute function reloaded.see()`,
      );
      for (const setting of ['on', 'remote_apply']) {
        await reload(url, 'synchronous_commit', setting);
        const other = new Client(url);
        await other.connect();
        await other.query('begin; select from reloaded.kv_slot for update');
        const written = put(store, setting);
        await lockWaits(url, schema, 1);
        await reload(url, 'synchronous_commit', 'off');
        await other.end();
        assert.ok((await written).ok);
        const seen = await runSql(url, 'delete from reloaded.seen returning setting');
        assert.deepEqual(seen, [{ setting }]);
      }
      await reload(url, 'synchronous_commit', 'on');
      await store.close();
      await dropSchema(url, schema);
    });
  }

  it('is refused with what to do when it takes no writes', async () => {
    await assert.rejects(
      open('fixed', ['default_transaction_read_only = on']),
      /fixed: It is read-only: set default_transaction_read_only = off/,
    );
  });

  it('is refused when the schema has something else, and left as it was', async () => {
    const { url } = server();
    const of = (schema: string) => openPostgresStore({ url, schema, clock: systemClock });
    await runSql(
      url,
      `create schema a; create table a.kv (x int);
      create schema b; create table b.kv_meta (x int);
      create schema c; create table c.kv_meta (name text primary key, value text not null);
      insert into c.kv_meta values ('format', 'something')`,
    );
    for (const schema of ['a', 'b', 'c']) {
      await assert.rejects(of(schema), /has tables of something else\. Choose another one/, schema);
    }
    const tables = `select table_schema, table_name from information_schema.tables
      where table_schema in ('b', 'c')`;
    assert.equal((await runSql(url, tables)).length, 2);
  });

  it('is used by one who owns the schema, with no right to make another', async () => {
    await runSql(server().url, 'create role owner login; create schema owned authorization owner');
    const url = new URL(server().url);
    url.username = 'owner';
    const options = { url: url.href, schema: 'owned', clock: systemClock };
    for (const start of ['first', 'second']) {
      const store = await openPostgresStore(options);
      const put = { key, value: Buffer.from(start) };
      assert.ok((await store.commit({ checks: [], puts: [put], deletes: [] })).ok);
      await store.close();
    }
  });

  it('is refused with what to do when its user has no rights', async () => {
    await runSql(server().url, 'create role guest login');
    const url = new URL(server().url);
    url.username = 'guest';
    await assert.rejects(
      openPostgresStore({ url: url.href, clock: systemClock }),
      /permission denied for database .*Let its user make the schema/,
    );
  });
});
