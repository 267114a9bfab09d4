import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { runSql } from '../../../test/support/engine-postgres.js';
import {
  startPostgres,
  startStandby,
  withoutPostgres,
} from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { openPostgresStore } from './store.js';

const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const writers = 8;

function put(store: Store, name: string) {
  const key = Buffer.concat([prefix, Buffer.from(name)]);
  return store.commit({ checks: [], puts: [{ key, value: Buffer.from(name) }], deletes: [] });
}

async function has(store: Store, name: string): Promise<boolean> {
  return (await store.get(Buffer.concat([prefix, Buffer.from(name)]))) !== undefined;
}

/** The address of a database on the first of two servers that takes writes. */
function eitherOf(first: string, second: string): string {
  const [one, other] = [new URL(first), new URL(second)];
  return `postgres://tabularium@${one.host},${other.host}${one.pathname}`;
}

void describe('a PostgreSQL store whose primary dies', { skip: withoutPostgres }, () => {
  it('has all that it acknowledged on a synchronous standby, and writes there', async () => {
    const primary = await startPostgres();
    const standby = await startStandby(primary);
    await runSql(primary.url, `alter system set synchronous_standby_names = '*'`);
    await runSql(primary.url, 'select pg_reload_conf()');
    const url = eitherOf(primary.url, standby.url);
    const store = await openPostgresStore({ url, clock: systemClock });
    const acknowledged: string[] = [];
    const over = new AbortController();
    const write = async (writer: number): Promise<void> => {
      for (let serial = 0; !over.signal.aborted; serial += 1) {
        const name = `${writer} ${serial}`;
        const result = await put(store, name);
        assert.ok(result.ok);
        acknowledged.push(name);
      }
    };
    const written = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
    while (acknowledged.length < 200) await pause(5);
    await primary.stop('SIGKILL');
    const before = acknowledged.length;
    await runSql(standby.url, 'select pg_promote()');
    while (acknowledged.length < before + 200) await pause(5);
    over.abort();
    await written;
    assert.equal(store.trouble(), undefined);
    for (const name of acknowledged) assert.ok(await has(store, name), `${name} is lost`);
    await store.close();
    await standby.dispose();
    await primary.dispose();
  });

  it('tells of commits that its standby lacks, and takes no more', async () => {
    const primary = await startPostgres();
    const standby = await startStandby(primary);
    const url = eitherOf(primary.url, standby.url);
    const told: Error[] = [];
    const events = { lostCommits: (error: Error) => void told.push(error) };
    const store = await openPostgresStore({ url, clock: systemClock, events });
    await put(store, 'kept');
    // What the standby has not received is lost with its primary.
    const position = Object.values(
      (await runSql(primary.url, 'select pg_current_wal_lsn()'))[0] ?? {},
    );
    const received = `select pg_last_wal_replay_lsn() >= '${String(position[0])}' as done`;
    while (JSON.stringify(await runSql(standby.url, received)) !== '[{"done":true}]')
      await pause(20);
    await standby.stop('SIGINT');
    await put(store, 'lost');
    await primary.stop('SIGKILL');
    await standby.start();
    await runSql(standby.url, 'select pg_promote()');
    await assert.rejects(put(store, 'more'), (error) => {
      assert.ok(error instanceof StoreWriteError && !(error instanceof StoreUnavailableError));
      return /^Commits are lost: version \d+ was acknowledged/.test(error.message);
    });
    assert.equal(told.length, 1);
    assert.match(store.trouble()?.message ?? '', /^Commits are lost/);
    assert.deepEqual([await has(store, 'kept'), await has(store, 'lost')], [true, false]);
    await store.close();
    await standby.dispose();
    await primary.dispose();
  });
});
