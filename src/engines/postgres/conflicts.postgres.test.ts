import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Client } from 'pg';
import { dropSchema, lockWaits, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { decodeCounter } from '../../kv/counter.js';
import { StoreUnavailableError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { openPostgresStore, type CommitFormName } from './store.js';

const forms: readonly CommitFormName[] = ['function', 'transaction'];
/** Serialization failure, deadlock, lock not available. */
const codes = ['40001', '40P01', '55P03'] as const;
/** When the database finds the conflict. */
const moments = { 'at the write': 'immediate', 'at the commit': 'deferred' } as const;
const attempts = 5;
const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const counter = Buffer.concat([prefix, Buffer.from('count')]);

function keyOf(name: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(`row ${name}`)]);
}

/** Inserts a row, and counts it. Were it applied twice, the check or the count would show it. */
function insert(store: Store, name: string) {
  const key = keyOf(name);
  return store.commit({
    checks: [{ key, version: 'absent' }],
    puts: [{ key, value: Buffer.from(name) }],
    deletes: [],
    adds: [{ key: counter, delta: 1 }],
  });
}

async function countOf(store: Store): Promise<number> {
  const entry = await store.get(counter);
  return entry === undefined ? 0 : decodeCounter(entry.value);
}

function isConflict(error: unknown): boolean {
  assert.ok(error instanceof StoreUnavailableError, String(error));
  return error.message.startsWith('The database ended each attempt because of other transactions:');
}

void describe(
  'a PostgreSQL store whose transactions meet others',
  { skip: withoutPostgres },
  () => {
    const server = postgresOfSuite();

    /** `parameters`: of the URL, behind its question mark. */
    async function opened(schema: string, commitForm: CommitFormName, parameters = '') {
      const { url } = server();
      const store = await openPostgresStore({
        url: `${url}?${parameters}`,
        schema,
        clock: systemClock,
        commitForm,
      });
      const run = (text: string) => runSql(url, `set search_path = ${schema}; ${text}`);
      await run('create sequence tries');
      return {
        store,
        run,
        /** How often what raises the error was called. */
        async tries(): Promise<number> {
          const [row] = await run('select last_value::int as count from tries');
          return Number(Object.values(row ?? {})[0]);
        },
        async [Symbol.asyncDispose]() {
          await store.close();
          await dropSchema(url, schema);
        },
      };
    }

    /**
     * Raises the error at the first `times` calls. The number of a call outlives its transaction.
     */
    const raising = (schema: string, code: string, times: number) =>
      `if nextval('${schema}.tries') <= ${times} then
      raise 'others go first' using errcode = '${code}';
    end if;`;

    /** A trigger that lets writes of one row fail. */
    const trigger = (schema: string, name: string, moment: string, raise: string) => `
    alter sequence tries restart;
    create function fail() returns trigger language plpgsql as $$ begin
      if new.key = '\\x${keyOf(name).toString('hex')}' then ${raise} end if;
      return null;
    end $$;
    create constraint trigger fail after insert or update on kv deferrable initially ${moment}
      for each row execute function ${schema}.fail()`;

    for (const form of forms) {
      it(`applies a commit once that was ended at first, by a ${form}`, async () => {
        const schema = `once_${form}`;
        await using own = await opened(schema, form);
        let rows = 0;
        for (const code of codes) {
          for (const [when, moment] of Object.entries(moments)) {
            const name = `${code} ${when}`;
            await own.run(trigger(schema, name, moment, raising(schema, code, 2)));
            const result = await insert(own.store, name);
            assert.ok(result.ok, name);
            rows += 1;
            assert.equal((await own.store.get(keyOf(name)))?.version, result.version);
            assert.deepEqual([await own.tries(), await countOf(own.store)], [3, rows], name);
            await own.run('drop function fail cascade');
          }
        }
      });

      it(`answers that it is busy after ${attempts} attempts and has applied nothing, by a ${form}`, async () => {
        const schema = `busy_${form}`;
        await using own = await opened(schema, form);
        let rows = 0;
        for (const code of codes) {
          await own.run(trigger(schema, code, 'deferred', raising(schema, code, 1_000)));
          await assert.rejects(insert(own.store, code), isConflict);
          assert.equal(await own.tries(), attempts);
          assert.equal(await own.store.get(keyOf(code)), undefined);
          assert.equal(await countOf(own.store), rows);
          await own.run('drop function fail cascade');
          assert.ok((await insert(own.store, code)).ok);
          rows += 1;
          assert.equal(await countOf(own.store), rows);
        }
      });

      it(`fails no other commit of the batch, by a ${form}`, async () => {
        const schema = `others_${form}`;
        await using own = await opened(schema, form);
        await own.run(trigger(schema, '7', 'immediate', raising(schema, '55P03', 1_000)));
        const names = Array.from({ length: 20 }, (_, index) => `${index}`);
        const put = (name: string) =>
          own.store.commit({
            checks: [{ key: keyOf(name), version: 'absent' }],
            puts: [{ key: keyOf(name), value: Buffer.from(name) }],
            deletes: [],
          });
        const settled = await Promise.allSettled(names.map(put));
        for (const [index, each] of settled.entries()) {
          if (each.status === 'rejected') assert.ok(index === 7 && isConflict(each.reason));
          else assert.ok(index !== 7 && each.value.ok);
        }
        // Once with others, and once alone.
        assert.equal(await own.tries(), 2 * attempts);
      });

      it(`applies a commit once that has been in a deadlock, by a ${form}`, async () => {
        const schema = `deadlock_${form}`;
        // The database then looks at the wait of the commit before it looks at the other.
        await using own = await opened(schema, form, 'options=-c%20deadlock_timeout%3D300ms');
        assert.ok((await insert(own.store, 'first')).ok);
        let rows = 1;
        for (let isVictim = false; !isVictim; rows += 1) {
          const other = new Client(server().url);
          await other.connect();
          try {
            await other.query(`begin; select from ${schema}.kv_slot order by slot for update`);
            const commit = insert(own.store, `round ${rows}`);
            await lockWaits(server().url, schema, 1);
            isVictim = await locksSessions(other, schema);
            await other.query('commit');
            assert.ok((await commit).ok);
          } finally {
            await other.end();
          }
        }
        assert.equal(await countOf(own.store), rows);
      });

      it(`does nothing where the database limits the wait for a lock, by a ${form}`, async () => {
        const schema = `limited_${form}`;
        const limit = 'prepare=false&options=-c%20lock_timeout%3D50ms';
        await using own = await opened(schema, form, limit);
        assert.ok((await insert(own.store, 'first')).ok);
        const other = new Client(server().url);
        await other.connect();
        try {
          await other.query(`begin; select from ${schema}.kv_slot order by slot for update`);
          await assert.rejects(insert(own.store, 'second'), isConflict);
        } finally {
          await other.end();
        }
        assert.equal(await own.store.get(keyOf('second')), undefined);
        assert.ok((await insert(own.store, 'second')).ok);
        assert.equal(await countOf(own.store), 2);
      });
    }

    describe('in a read', () => {
      const names = ['a', 'b', 'c'];
      const range = { start: keyOf('a'), end: keyOf('d') };
      const limits = { limit: 10, bytesMax: 1_000 };
      const valuesOf = (entries: readonly ({ value: Uint8Array } | undefined)[]) =>
        entries.map((entry) => String(entry?.value));

      /** A store of three rows, whose reads call a function. `failing`: replaces its body. */
      async function reading(schema: string) {
        const own = await opened(schema, 'function');
        for (const name of names) assert.ok((await insert(own.store, name)).ok);
        const failing = (body: string) =>
          own.run(`create or replace function may_read() returns boolean language plpgsql as
          $$ begin ${body} return true; end $$`);
        await failing('');
        await own.run(`alter table kv rename to kv_rows;
        create view kv as select * from kv_rows where ${schema}.may_read()`);
        return { ...own, failing };
      }

      it('repeats a single statement, and tells when it was ended each time', async () => {
        const schema = 'statements';
        await using own = await reading(schema);
        const { store } = own;
        const reads: readonly (() => Promise<string[]>)[] = [
          async () => valuesOf(await Promise.all(names.map((name) => store.get(keyOf(name))))),
          async () => valuesOf(await store.getMany(names.map(keyOf))),
          async () => valuesOf((await store.range(range, limits)).entries),
        ];
        for (const code of codes) {
          for (const read of reads) {
            await own.run('alter sequence tries restart');
            await own.failing(raising(schema, code, 2));
            assert.deepEqual(await read(), names);
            assert.ok((await own.tries()) > 2);
            await own.failing(raising(schema, code, 1_000));
            await assert.rejects(read(), isConflict);
          }
        }
      });

      it('repeats a snapshot on another connection, and tells when it was ended each time', async () => {
        await using own = await reading('snapshots');
        const read = async () => {
          const page = await own.store.range(range, { ...limits, filter: () => 'take' });
          return valuesOf(page.entries);
        };
        assert.deepEqual(await read(), names);
        for (const code of codes) {
          const raise = `raise 'others go first' using errcode = '${code}';`;
          const [now] = await own.run('select clock_timestamp()::text');
          const moment = `'${Object.values(now ?? {}).join('')}'`;
          // Such transactions take nothing from a sequence, so earlier connections fail instead.
          const started = `select 1 from pg_stat_activity
          where application_name = 'tabularium' and backend_start > ${moment}`;
          await own.failing(
            `if not exists (${started} and pid = pg_backend_pid()) then ${raise} end if;`,
          );
          assert.deepEqual(await read(), names);
          assert.equal((await own.run(started)).length, 1);
          await own.failing(raise);
          await assert.rejects(read(), isConflict);
          await own.failing('');
          assert.deepEqual(await read(), names);
        }
      });
    });
  },
);

/** False when the database has ended this transaction, and not that of the store. */
async function locksSessions(client: Client, schema: string): Promise<boolean> {
  try {
    await client.query(`select from ${schema}.kv_session for update`);
    return true;
  } catch (error) {
    assert.match(String(error), /deadlock detected/);
    return false;
  }
}
