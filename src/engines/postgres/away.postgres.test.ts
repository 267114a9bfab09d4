import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { postgresUnderTest, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { startPostgres, withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemTimers } from '../../base/async/timers.js';
import { systemClock } from '../../base/clock.js';
import { StoreClosedError, StoreWriteError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { quoted } from './statements.js';
import { Connection } from './connection.js';
import { openPostgresStore } from './store.js';

const prefix = partitionPrefix('tables', 'account', 1, 'partition');

function keyOf(name: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(name)]);
}

function put(store: Store, name: string, value = Buffer.from(name)) {
  return store.commit({ checks: [], puts: [{ key: keyOf(name), value }], deletes: [] });
}

void describe('a PostgreSQL store', { skip: withoutPostgres }, () => {
  const started = postgresOfSuite();

  it('returns every byte as it was stored, in values and in keys of any length', async () => {
    const { store, dispose } = await postgresUnderTest({ url: started().url, clock: systemClock });
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    for (const length of [
      0,
      256,
      2600 - prefix.length,
      2601 - prefix.length,
      4026 - prefix.length,
    ]) {
      const name = Buffer.concat(Array.from({ length: 16 }, () => bytes)).subarray(0, length);
      const key = Buffer.concat([prefix, name]);
      await store.commit({ checks: [], puts: [{ key, value: bytes }], deletes: [] });
      const entry = await store.get(key);
      assert.deepEqual([entry?.key, entry?.value], [key, bytes], `${length} bytes`);
      const { entries } = await store.range({ start: key }, { limit: 1, bytesMax: 9_999 });
      assert.deepEqual(entries[0]?.key, key);
    }
    await dispose();
  });

  it('says what is wrong while no database answers, and goes on when one does', async () => {
    const { store, dispose } = await postgresUnderTest({ url: started().url, clock: systemClock });
    await put(store, 'before');
    assert.equal(store.trouble(), undefined);
    await started().stop('SIGINT');
    const written = put(store, 'meanwhile');
    const read = store.get(keyOf('before'));
    while (store.trouble() === undefined) await pause(5);
    assert.match(store.trouble()?.message ?? '', /^No database takes writes: postgres:/);
    await started().start();
    assert.equal((await written).ok, true);
    assert.equal(String((await read)?.value), 'before');
    assert.equal(store.trouble(), undefined);
    await dispose();
  });

  it('is well while its connections write and the database takes no more of them', async (t) => {
    const server = await startPostgres(['max_connections=12', 'superuser_reserved_connections=1']);
    t.after(() => server.dispose());
    const { url } = server;
    const troubles: unknown[] = [];
    const trouble = (each: unknown) => void troubles.push(each);
    const store = await openPostgresStore({ url, clock: systemClock, events: { trouble } });
    // As many as there are connections that reads share.
    for (let read = 0; read < 8; read += 1) await store.get(keyOf('before'));
    const others: Client[] = [];
    const leave = async () => {
      for (const client of others.splice(0)) await client.end();
    };
    const fill = async () => {
      for (;;) {
        const client = new Client(url);
        client.on('error', () => undefined);
        try {
          await client.connect();
        } catch {
          return;
        }
        others.push(client);
      }
    };
    await fill();
    const first = put(store, 'first');
    while (store.trouble() === undefined) await pause(5);
    assert.match(store.trouble()?.message ?? '', /too many clients/);
    await leave();
    assert.ok((await first).ok);
    assert.equal(store.trouble(), undefined);

    await fill();
    const [locker] = others;
    assert.ok(locker !== undefined);
    await locker.query('begin');
    await locker.query('select from tabularium.kv_slot for update');
    // The connection that is open is busy with the first commit, so the next one needs another.
    const locked = put(store, 'locked');
    const busy = "select from pg_stat_activity where wait_event_type = 'Lock'";
    while ((await locker.query(busy)).rows.length === 0) await pause(5);
    const other = Buffer.concat([partitionPrefix('tables', 'account', 1, 'other'), keyOf('row')]);
    const puts = [{ key: other, value: other }];
    const waiting = store.commit({ checks: [], puts, deletes: [] });
    troubles.length = 0;
    while (troubles.length === 0) await pause(5);
    assert.equal(store.trouble(), undefined);
    await locker.query('rollback');
    assert.ok((await locked).ok);
    assert.ok((await put(store, 'second')).ok);
    assert.equal(String((await store.get(keyOf('second')))?.value), 'second');
    assert.equal(store.trouble(), undefined);
    await leave();
    assert.ok((await waiting).ok);
    await store.close();
  });

  it('can be closed while no database answers', async () => {
    const { store, schema } = await postgresUnderTest({
      url: started().url,
      clock: systemClock,
    });
    await put(store, 'before');
    await started().stop('SIGINT');
    await store.close();
    await assert.rejects(store.get(keyOf('before')), StoreClosedError);
    await started().start();
    await runSql(started().url, `drop schema ${quoted(schema)} cascade`);
  });

  it('closes the connection of a page that is read while it is closed', async () => {
    const { url } = started();
    const options = { url, schema: 'closing', clock: systemClock };
    const writer = await openPostgresStore(options);
    const key = (at: number) => keyOf(String(at).padStart(4, '0'));
    const puts = Array.from({ length: 400 }, (_, at) => ({ key: key(at), value: key(at) }));
    await writer.commit({ checks: [], puts, deletes: [] });
    await writer.close();
    const store = await openPostgresStore(options);
    let closing: Promise<void> | undefined;
    let seen = 0;
    const filter = () => {
      seen += 1;
      closing ??= store.close();
      return 'skip' as const;
    };
    await store.range({ start: prefix }, { limit: 1, bytesMax: 1, filter });
    await closing;
    assert.equal(seen, 400);
    const open = `select count(*) from pg_stat_activity where application_name = 'tabularium'`;
    while (String(Object.values((await runSql(url, open))[0] ?? {})) !== '0') await pause(20);
    await runSql(url, 'drop schema closing cascade');
  });

  it('repeats no page that its reader ends, and hands over what that has thrown', async () => {
    const { store, dispose } = await postgresUnderTest({ url: started().url, clock: systemClock });
    await put(store, 'row');
    let calls = 0;
    const filter = () => {
      calls += 1;
      throw new RangeError('not this one');
    };
    const read = store.range({ start: prefix }, { limit: 1, bytesMax: 1, filter });
    await assert.rejects(read, /^RangeError: not this one$/);
    assert.equal(calls, 1);
    assert.equal(String((await store.get(keyOf('row')))?.value), 'row');
    await dispose();
  });

  it('refuses writes when commits that it has acknowledged are not there any more', async () => {
    const { url } = started();
    const { store, schema, dispose } = await postgresUnderTest({ url, clock: systemClock });
    await put(store, 'row');
    // What a standby would show that was a minute behind.
    const lose = `update ${quoted(schema)}.kv_slot set last = last - 60000000 where last > 0`;
    await runSql(url, lose);
    await started().stop('SIGQUIT');
    await started().start();
    await assert.rejects(put(store, 'after'), (error) => {
      assert.ok(error instanceof StoreWriteError);
      return /^Commits are lost: version \d+ was acknowledged/.test(error.message);
    });
    assert.match(store.trouble()?.message ?? '', /^Commits are lost/);
    assert.equal(String((await store.get(keyOf('row')))?.value), 'row');
    await dispose();
    const accepting = await openPostgresStore({
      url,
      schema: 'accepting',
      clock: systemClock,
      onLostCommits: 'accept',
    });
    await put(accepting, 'row');
    await runSql(url, 'update accepting.kv_slot set last = last - 60000000 where last > 0');
    await started().stop('SIGQUIT');
    await started().start();
    assert.equal((await put(accepting, 'after')).ok, true);
    await accepting.close();
  });

  it('opens no database whose commits may be lost, unless it may lose what it acknowledges', async () => {
    const { url } = started();
    for (const value of ['off', 'local', 'remote_write']) {
      const options = {
        url: `${url}?options=-c%20synchronous_commit%3D${value}`,
        clock: systemClock,
      };
      const expected = new RegExp(
        `would lose what .*: synchronous_commit is ${value}\\. Set it to on`,
      );
      await assert.rejects(openPostgresStore(options), expected);
      const relaxed = { durability: 'relaxed', schema: 'relaxed' } as const;
      const store = await openPostgresStore({ ...options, ...relaxed });
      await put(store, 'row');
      await store.close();
    }
    const server = await startPostgres(['fsync=off', 'full_page_writes=off']);
    await assert.rejects(
      openPostgresStore({ url: server.url, clock: systemClock }),
      /would lose what .*: fsync is off, full_page_writes is off\. Set it to on/,
    );
    await server.dispose();
  });

  it('takes no writes from a database that is set not to sync while it is used', async () => {
    const { url } = started();
    const { store, dispose } = await postgresUnderTest({ url, clock: systemClock });
    await put(store, 'before');
    const set = async (value: string) => {
      await runSql(url, `alter system set fsync = ${value}`);
      await started().stop('SIGINT');
      await started().start();
    };
    await set('off');
    const written = put(store, 'meanwhile');
    while (!/fsync is off/.test(store.trouble()?.message ?? '')) await pause(5);
    await set('on');
    assert.equal((await written).ok, true);
    assert.equal(store.trouble(), undefined);
    await dispose();
  });

  it('lets no commit wait for the disk in the relaxed mode alone', async () => {
    const setting = { name: 'asked', text: "select current_setting('synchronous_commit')" };
    for (const [isRelaxed, expected] of [
      [true, 'off'],
      [false, 'on'],
    ] as const) {
      const options = { prepares: true, pipelines: false, timers: systemTimers };
      const connection = await Connection.open({ ...options, isRelaxed, address: started().url });
      assert.deepEqual(await connection.query(setting, []), [[Buffer.from(expected)]]);
      await connection.close();
    }
  });
});
