import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { runSql } from '../../../test/support/engine-postgres.js';
import { eitherOf, failOverWithout } from '../../../test/support/postgres-failover.js';
import {
  startPostgres,
  startStandby,
  withoutPostgres,
  type PostgresServer,
} from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { StoreUnavailableError, StoreWriteError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import type { Loss } from './acknowledgements.js';
import { openPostgresStore, type PostgresStore } from './store.js';

const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const writers = 8;

function put(store: Store, name: string) {
  const key = Buffer.concat([prefix, Buffer.from(name)]);
  return store.commit({ checks: [], puts: [{ key, value: Buffer.from(name) }], deletes: [] });
}

async function has(store: Store, name: string): Promise<boolean> {
  return (await store.get(Buffer.concat([prefix, Buffer.from(name)]))) !== undefined;
}

function isLoss(error: unknown): boolean {
  assert.ok(error instanceof StoreWriteError && !(error instanceof StoreUnavailableError));
  return /^Commits are lost: version \d+ was acknowledged/.test(error.message);
}

interface Pair {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  readonly url: string;
}

async function withPair(work: (pair: Pair) => Promise<void>): Promise<void> {
  const primary = await startPostgres();
  const standby = await startStandby(primary);
  try {
    await work({ primary, standby, url: eitherOf(primary, standby) });
  } finally {
    await standby.dispose();
    await primary.dispose();
  }
}

interface Told {
  readonly store: PostgresStore;
  readonly losses: Loss[];
}

async function open(url: string, onLostCommits: 'refuse' | 'accept' = 'refuse'): Promise<Told> {
  const losses: Loss[] = [];
  const events = { lostCommits: (_: Error, loss: Loss) => void losses.push(loss) };
  const store = await openPostgresStore({ url, clock: systemClock, events, onLostCommits });
  return { store, losses };
}

void describe('a PostgreSQL store whose primary dies', { skip: withoutPostgres }, () => {
  it('has all that it acknowledged on a synchronous standby, and writes there', () =>
    withPair(async ({ primary, standby, url }) => {
      await runSql(primary.url, `alter system set synchronous_standby_names = '*'`);
      await runSql(primary.url, 'select pg_reload_conf()');
      const { store } = await open(url);
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
    }));

  it('tells of commits that its standby lacks, and takes no more', () =>
    withPair(async ({ primary, standby, url }) => {
      const { store, losses } = await open(url);
      await put(store, 'kept');
      await failOverWithout(primary, standby, async () => void (await put(store, 'lost')));
      await assert.rejects(put(store, 'more'), isLoss);
      assert.deepEqual(
        losses.map(({ commits }) => commits),
        [1],
      );
      assert.match(store.trouble()?.message ?? '', /^Commits are lost/);
      assert.deepEqual([await has(store, 'kept'), await has(store, 'lost')], [true, false]);
      await store.close();
    }));

  it('tells of them although another server has committed since, and that one goes on', () =>
    withPair(async ({ primary, standby, url }) => {
      const [{ store: first, losses }, { store: second, losses: none }] = [
        await open(url),
        await open(url),
      ];
      await put(first, 'kept');
      await put(second, 'other');
      await failOverWithout(primary, standby, async () => {
        for (const name of ['lost', 'lost as well']) await put(first, name);
      });
      // The clock makes its version greater than those that are lost.
      const result = await put(second, 'since');
      assert.ok(result.ok);
      await assert.rejects(put(first, 'more'), isLoss);
      const [loss] = losses;
      assert.equal(loss?.commits, 2);
      assert.ok(loss.acknowledged < result.version && loss.last === result.version);
      assert.deepEqual([losses.length, none.length], [1, 0]);
      assert.equal((await put(second, 'further')).ok, true);
      assert.equal(await has(first, 'further'), true);
      await first.close();
      await second.close();
    }));

  it('tells of them when it only reads', () =>
    withPair(async ({ primary, standby, url }) => {
      const [{ store: first, losses }, { store: second }] = [await open(url), await open(url)];
      await failOverWithout(primary, standby, async () => void (await put(first, 'lost')));
      await put(second, 'since');
      assert.equal(await has(first, 'since'), true);
      assert.equal(losses.length, 1);
      assert.match(first.trouble()?.message ?? '', /^Commits are lost/);
      await first.close();
      await second.close();
    }));

  it('goes on when the loss is accepted, and tells of it once', () =>
    withPair(async ({ primary, standby, url }) => {
      const [{ store: first, losses }, { store: second }] = [
        await open(url, 'accept'),
        await open(url),
      ];
      await failOverWithout(primary, standby, async () => void (await put(first, 'lost')));
      await put(second, 'since');
      await Promise.all(Array.from({ length: 8 }, (_, at) => put(first, `more ${at}`)));
      assert.equal(losses.length, 1);
      assert.equal(first.trouble(), undefined);
      assert.deepEqual([first.hasLost(), second.hasLost()], [true, false]);
      await first.close();
      await second.close();
    }));

  for (const kept of [true, false]) {
    it(`refuses a commit under way when others are lost, its session ${kept ? 'kept' : 'lost'}`, () =>
      withPair(async ({ primary, standby, url }) => {
        const [{ store: first, losses }, { store: second }] = [await open(url), await open(url)];
        if (kept) await put(first, 'kept');
        const slots = new Client(primary.url);
        slots.on('error', () => undefined);
        let refused: Promise<void> | undefined;
        await failOverWithout(primary, standby, async () => {
          await put(first, 'lost');
          await slots.connect();
          await slots.query('begin; select from tabularium.kv_slot for update');
          refused = assert.rejects(put(first, 'under way'), isLoss);
          const waiting = `select from pg_stat_activity where wait_event_type = 'Lock'`;
          while ((await runSql(primary.url, waiting)).length === 0) await pause(10);
        });
        await put(second, 'since');
        await refused;
        assert.equal(losses.length, 1);
        assert.equal(await has(second, 'under way'), false);
        await first.close();
        await second.close();
      }));
  }
});
