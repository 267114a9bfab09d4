import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { dropSchema, lockWaits, runSql } from '../../../test/support/engine-postgres.js';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock, type Clock } from '../../base/clock.js';
import { messageOf } from '../../base/thrown.js';
import { CommitUnknownError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { sweepMs } from './session-sweep.js';
import { openPostgresStore, type PostgresStore } from './store.js';

const dayMicros = 86_400_000_000;
const dayIn = { nowMicros: dayMicros, monotonicMs: dayMicros / 1_000 } as const;
/** More than any pause between two attempts. */
const attemptMs = 200;
const key = partitionPrefix('tables', 'account', 1, 'partition');

async function put(store: PostgresStore): Promise<boolean> {
  const puts = [{ key, value: Buffer.from('value') }];
  return (await store.commit({ checks: [], puts, deletes: [] })).ok;
}

void describe('a PostgreSQL store that stays open', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  /** A store for which an hour passes when the test says so. `told`: what the database refused. */
  async function opened(schema: string, clock: Clock = systemClock) {
    const { url } = server();
    const timers = manualTimers();
    const told: string[] = [];
    const events = { noSweep: (error: unknown) => void told.push(messageOf(error)) };
    const store = await openPostgresStore({ url, schema, clock, timers, events });
    const run = (text: string) => runSql(url, `set search_path = ${schema}; ${text}`);
    let hours = 0;
    return {
      store,
      told,
      run,
      /** Resolves when the sweep is over and the next one is scheduled. */
      async hour(): Promise<void> {
        hours += 1;
        timers.fire(sweepMs);
        const isScheduled = () => timers.delays.filter((ms) => ms === sweepMs).length > hours;
        while (!isScheduled()) await pause(5);
      },
      /** Lets the pauses between attempts pass until a call is over. */
      async during<T>(call: Promise<T>): Promise<T> {
        const ended = call.then((result) => ({ result }));
        for (;;) {
          timers.fire(attemptMs);
          const found = await Promise.race([ended, pause(5)]);
          if (found !== undefined) return found.result;
        }
      },
      /** The rows of peers that vanished. */
      async rows(): Promise<string[]> {
        const found = await run(
          `select format('%s %s', session, case when closed then 'closed' else 'open' end) as row
            from kv_session where session < 10 order by session`,
        );
        return found.map((row) => Object.values(row ?? {}).join());
      },
      async [Symbol.asyncDispose]() {
        await store.close();
        await dropSchema(url, schema);
      },
    };
  }

  const vanished = `insert into kv_session (session, batch, closed, seen) values
    (1, 5, false, now() - interval '59 minutes'), (2, 5, false, now() - interval '61 minutes'),
    (3, 5, true, now() - interval '47 hours'), (4, 5, true, now() - interval '49 hours')`;

  it('closes rows of vanished peers after an hour and removes them two days later, every hour', async () => {
    await using sweeping = await opened('sweeping');
    const { store } = sweeping;
    assert.ok(await put(store));
    await sweeping.run(vanished);
    assert.deepEqual(await sweeping.rows(), ['1 open', '2 open', '3 closed', '4 closed']);
    await sweeping.hour();
    assert.deepEqual(await sweeping.rows(), ['1 open', '2 closed', '3 closed']);
    // The row that was just closed has two days from now on.
    await sweeping.run(`update kv_session set seen = seen - interval '2 hours'`);
    await sweeping.hour();
    assert.deepEqual(await sweeping.rows(), ['1 closed', '2 closed']);
    // So is the session of the store itself by now: the next batch begins another one.
    const own = await sweeping.run('select closed from kv_session where session > 9');
    assert.equal(JSON.stringify(own), '[{"closed":true}]');
    assert.ok(await sweeping.during(put(store)));
    assert.deepEqual(sweeping.told, []);
  });

  for (const [where, days] of Object.entries({ behind: -5, ahead: 5 })) {
    it(`goes by the clock of the database where that of the server is days ${where}`, async () => {
      const nowMicros = () => systemClock.nowMicros() + days * dayMicros;
      await using sweeping = await opened(`days_${where}`, {
        ...systemClock,
        nowMicros,
      });
      await sweeping.run(vanished);
      assert.ok(await put(sweeping.store));
      await sweeping.hour();
      assert.deepEqual(await sweeping.rows(), ['1 open', '2 closed', '3 closed']);
      assert.ok(await put(sweeping.store));
      const own = await sweeping.run('select closed from kv_session where session > 9');
      assert.equal(JSON.stringify(own), '[{"closed":false}]');
      assert.deepEqual(sweeping.told, []);
    });
  }

  for (const clock of ['nowMicros', 'monotonicMs'] as const) {
    it(`does not know a batch of a process that stood still until its row was removed (${clock})`, () =>
      standsStill(clock));
  }

  /** `goes`: the clock of the process that shows it. */
  async function standsStill(goes: 'nowMicros' | 'monotonicMs'): Promise<void> {
    const { url } = server();
    const schema = `stopped_${goes.toLowerCase()}`;
    let isAhead = false;
    const clock = {
      ...systemClock,
      [goes]: () => systemClock[goes]() + (isAhead ? dayIn[goes] : 0),
    };
    const store = await openPostgresStore({ url, schema, clock });
    const other = new Client(url);
    await other.connect();
    try {
      assert.ok(await put(store));
      await other.query(`begin; select from ${schema}.kv_slot order by slot for update`);
      const unknown = assert.rejects(put(store), CommitUnknownError);
      await lockWaits(url, schema, 1);
      isAhead = true;
      // The lock of the table is next behind the batch, before the look at what became of it.
      const removed = runSql(
        url,
        `begin; lock table ${schema}.kv_session in exclusive mode;
          delete from ${schema}.kv_session; commit`,
      );
      await lockWaits(url, schema, 2);
      await runSql(
        url,
        `select pg_terminate_backend(pid) from pg_stat_activity
          where wait_event_type = 'Lock' and application_name = 'tabularium'`,
      );
      await Promise.all([removed, unknown]);
      await other.query('commit');
      assert.ok(await put(store));
    } finally {
      await other.end();
      await store.close();
      await dropSchema(url, schema);
    }
  }

  it('tells once that the database refuses it, and again after it was let', async () => {
    await using sweeping = await opened('refusing_sweeps');
    for (const times of [1, 2]) {
      await sweeping.run(
        `${vanished};
        create function refuse() returns trigger language plpgsql as
          $$ begin raise 'not here' using errcode = 'insufficient_privilege'; end $$;
        create trigger refuse before delete on kv_session
          for each row execute function refuse()`,
      );
      await sweeping.hour();
      await sweeping.hour();
      assert.deepEqual(
        sweeping.told,
        Array.from({ length: times }, () => 'not here'),
      );
      await sweeping.run('drop function refuse cascade');
      await sweeping.hour();
      assert.deepEqual(await sweeping.rows(), ['1 open', '2 closed', '3 closed']);
      await sweeping.run('delete from kv_session');
    }
  });
});
