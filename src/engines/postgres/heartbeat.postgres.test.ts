import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { dropSchema, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { fasterTimers } from '../../../test/support/quick-timers.js';
import { systemTimers } from '../../base/async/timers.js';
import { systemClock } from '../../base/clock.js';
import { it } from '../../base/conformance/limited-test.js';
import { messageOf } from '../../base/thrown.js';
import { openReplicaStore } from './replica-store.js';
import { openPostgresStore } from './store.js';

const hourMicros = 3_600_000_000;
const hastyTimers = fasterTimers(20, systemTimers);

void describe('heartbeats for standbys', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  /** A store that beats, in a schema of its own. `told`: the reports of failures. */
  async function beating(schema: string) {
    const { url } = server();
    const told: string[] = [];
    const events = { noHeartbeat: (error: unknown) => void told.push(messageOf(error)) };
    const own = { schema, clock: systemClock, timers: hastyTimers, beats: true, events };
    const store = await openPostgresStore({ url, ...own });
    const reader = openReplicaStore({ url, schema });
    return {
      told,
      run: (text: string) => runSql(url, `set search_path = ${schema}; ${text}`),
      /** The last heartbeat; 0 when there is none. */
      async last(): Promise<number> {
        const synchrony = await reader.synchrony();
        return synchrony.status === 'live' ? synchrony.lastSyncMicros : 0;
      },
      async [Symbol.asyncDispose]() {
        await reader.close();
        await store.close();
        await dropSchema(url, schema);
      },
    };
  }

  it('show the time of a database whose clock went back', async () => {
    await using beats = await beating('back');
    while ((await beats.last()) === 0) await pause(10);
    const ahead = systemClock.nowMicros() + hourMicros;
    await beats.run(`update kv_meta set value = '${ahead}' where name = 'heartbeat'`);
    while ((await beats.last()) >= ahead) await pause(10);
    assert.ok(Math.abs((await beats.last()) - systemClock.nowMicros()) < hourMicros / 60);
    assert.deepEqual(beats.told, []);
  });

  it('that the database refuses are told once, and again after one that it took', async () => {
    await using beats = await beating('refusing');
    while ((await beats.last()) === 0) await pause(10);
    for (const times of [1, 2]) {
      await beats.run(
        `create function refuse() returns trigger language plpgsql as
          $$ begin raise 'no room for it' using errcode = 'disk_full'; end $$;
        create trigger refuse before insert on kv_meta for each row execute function refuse()`,
      );
      while (beats.told.length < times) await pause(10);
      await pause(500);
      assert.deepEqual(
        beats.told,
        Array.from({ length: times }, () => 'no room for it'),
      );
      const before = await beats.last();
      await beats.run('drop function refuse cascade');
      while ((await beats.last()) === before) await pause(10);
    }
  });
});
