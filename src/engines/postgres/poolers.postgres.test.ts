import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { assertExactly, newLedger, write, writers } from '../../../test/support/commit-ledger.js';
import { postgresUnderTest, runSql } from '../../../test/support/engine-postgres.js';
import {
  startPgbouncer,
  withoutPgbouncer,
  type Pgbouncer,
} from '../../../test/support/pgbouncer.js';
import {
  startPostgres,
  withoutPostgres,
  type PostgresServer,
} from '../../../test/support/postgres-server.js';
import { byLength } from '../../../test/support/run-length.js';
import { it, testMillisMax } from '../../base/conformance/limited-test.js';
import { systemTimers } from '../../base/async/timers.js';
import { systemClock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { storeConformance } from '../../kv/conformance/index.js';
import { Connection } from './connection.js';
import { DatabaseError } from './database-error.js';
import { openReplicaStore } from './replica-store.js';
import { openPostgresStore } from './store.js';
import { assertUnshared } from './unshared.js';

/** What the guide says of each mode: a URL as it is, and one with this at its end. */
const supported = [
  { mode: 'session', parameters: '', commitForm: 'function' },
  { mode: 'transaction', parameters: '?prepare=false', commitForm: 'function' },
  { mode: 'transaction', parameters: '?prepare=false', commitForm: 'transaction' },
] as const;

const skip = withoutPostgres === false ? withoutPgbouncer : withoutPostgres;

void describe('a PostgreSQL engine behind PgBouncer', { skip }, () => {
  let server: PostgresServer | undefined;
  const poolers = new Map<string, Pgbouncer>();
  before(async () => {
    server = await startPostgres(['max_connections=400']);
    for (const mode of ['session', 'transaction', 'statement'] as const) {
      poolers.set(mode, await startPgbouncer(server.url, mode));
    }
  });
  after(async () => {
    for (const pooler of poolers.values()) await pooler[Symbol.asyncDispose]();
    await server?.dispose();
  });
  const poolerOf = (mode: string): Pgbouncer => {
    const pooler = poolers.get(mode);
    invariant(pooler !== undefined, 'the pooler has been started');
    return pooler;
  };
  const urlOf = (mode: string, parameters = ''): string => `${poolerOf(mode).url}${parameters}`;

  for (const { mode, parameters, commitForm } of supported) {
    storeConformance({
      name: `the PostgreSQL engine in ${mode} mode${parameters}, commits by ${commitForm}`,
      open: (options) =>
        postgresUnderTest({ ...options, commitForm, url: urlOf(mode, parameters) }),
      modelRuns: 5,
      capabilities: {
        persistent: true,
        processes: true,
        groupsCommits: true,
        versionsGlobal: false,
        member: true,
      },
    });

    const kills = byLength({ short: 4, long: 40 });
    const limit = { millisMax: byLength({ short: testMillisMax, long: 5 * testMillisMax }) };
    it(`knows of every commit over ${kills} kills (${mode}, ${commitForm})`, limit, async () => {
      const url = urlOf(mode, parameters);
      const { store, dispose } = await postgresUnderTest({ url, clock: systemClock, commitForm });
      const ledger = newLedger();
      const over = new AbortController();
      const written = write(store, ledger, over.signal);
      for (let kill = 0; kill < kills; kill += 1) {
        const applied = ledger.applied.size;
        while (ledger.applied.size < applied + writers) await pause(1);
        // In turns: the pooler, and what it has connected to, which it tells its clients.
        if (kill % 2 === 0) await poolerOf(mode).restart();
        else await endProcesses();
      }
      over.abort();
      await written;
      assert.deepEqual([...ledger.refused.values()], []);
      await assertExactly(store, ledger);
      await dispose();
    });
  }

  async function endProcesses(): Promise<void> {
    invariant(server !== undefined, 'the server has been started');
    await runSql(
      server.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
  }

  it('refuses connections that share processes, where statements are prepared', async () => {
    const url = urlOf('transaction');
    // The second start finds what the first one has prepared, the third one other processes.
    for (const start of ['first', 'second', 'third']) {
      if (start === 'third') await endProcesses();
      await assert.rejects(openPostgresStore({ url, clock: systemClock }), (error) => {
        assert.ok(error instanceof DatabaseError);
        assert.match(error.message, /prepare=false/, start);
        return true;
      });
    }
  });

  it('refuses connections that two processes have in turns', async () => {
    invariant(server !== undefined, 'the server has been started');
    const settings = ['server_round_robin = 1'];
    await using pooler = await startPgbouncer(server.url, 'transaction', settings);
    const { url } = pooler;
    // Two transactions at once make two processes.
    const clients = [new Client(url), new Client(url)];
    for (const client of clients) await client.connect();
    for (const client of clients) await client.query('begin');
    for (const client of clients) await client.query('rollback');
    for (const client of clients) await client.end();
    const parts = { address: url, prepares: true, pipelines: false, isRelaxed: false };
    const open = () => Connection.open({ ...parts, timers: systemTimers });
    const first = await open();
    await assert.rejects(assertUnshared(first, open), /^DatabaseError: .*prepare=false/);
    await first.close();
    await assert.rejects(openPostgresStore({ url, clock: systemClock }), /prepare=false/);
  });

  it('refuses standbys whose connections share processes, where statements are prepared', async () => {
    const schema = 'standing by';
    const parts = { clock: systemClock, schema, beats: true };
    const writer = await openPostgresStore({ url: urlOf('session'), ...parts });
    const reader = openReplicaStore({ url: urlOf('transaction'), schema });
    await assert.rejects(reader.assertUsable(), (error) => {
      assert.ok(error instanceof DatabaseError);
      assert.match(error.message, /^A standby cannot be used\. postgres:.*prepare=false/);
      return true;
    });
    // One that was away when the server started.
    await assert.rejects(reader.get(Buffer.from('key')), /^StoreUnavailableError: .*prepare=false/);
    assert.deepEqual(await reader.synchrony(), { status: 'unavailable' });
    await reader.close();
    for (const [mode, parameters] of [
      ['session', ''],
      ['transaction', '?prepare=false'],
    ] as const) {
      const usable = openReplicaStore({ url: urlOf(mode, parameters), schema });
      await usable.assertUsable();
      assert.equal(await usable.get(Buffer.from('key')), undefined);
      await usable.close();
    }
    await writer.close();
  });

  it('refuses standbys whose connections have no transactions', async () => {
    for (const parameters of ['', '?prepare=false']) {
      const reader = openReplicaStore({
        url: urlOf('statement', parameters),
        schema: 'tabularium',
      });
      await assert.rejects(reader.assertUsable(), (error) => {
        assert.ok(error instanceof DatabaseError);
        assert.match(error.message, /^A standby cannot be used\..* takes no transactions/);
        return true;
      });
      await assert.rejects(
        reader.get(Buffer.from('key')),
        /^StoreUnavailableError: .*statement mode/,
      );
      await reader.close();
    }
  });

  it('refuses connections that have no transactions', async () => {
    for (const parameters of ['', '?prepare=false']) {
      const url = urlOf('statement', parameters);
      await assert.rejects(openPostgresStore({ url, clock: systemClock }), DatabaseError);
    }
  });
});
