import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { Client } from 'pg';
import { dropSchema, postgresUnderTest, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { GuardError } from '../../kv/errors.js';
import type { MemberStore } from '../../kv/member-store.js';
import { partitionPrefix, storeKey } from '../../kv/partition-prefix.js';
import type { CommitBatch, CommitResult } from '../../kv/store.js';
import { quoted } from './statements.js';
import { openPostgresStore } from './store.js';

// Other forms of a commit and of a fence, which look right: what each of them does wrong is seen.

const keys = 200;
const clients = 8;
const roundsMax = 60;
const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const guardKey = storeKey('guard', 1);

void describe('a form that looks right', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();
  const url = (): string => server().url;

  it('inserts twice: a statement that locks what it checks, and writes', async () => {
    const schema = 'one statement';
    const table = `${quoted(schema)}.kv`;
    await runSql(
      url(),
      `create schema ${quoted(schema)};
        create table ${table} (key bytea primary key, version bigint not null)`,
    );
    // The snapshot of a statement is older than the lock that it waits for.
    const insert = `with present as (select 1 from ${table} where key = $1 for update),
      put as (insert into ${table} select $1, 1 where not exists (select from present)
        on conflict (key) do update set version = kv.version + 1 returning version)
      select count(*)::int as puts from put`;
    const all = Array.from({ length: clients }, () => new Client(url()));
    await Promise.all(all.map((client) => client.connect()));
    let won = 0;
    let round = 0;
    while (won <= round * keys && round < roundsMax) {
      round += 1;
      const name = (index: number) => Buffer.from(`${round} ${index}`);
      const counts = await Promise.all(
        all.map(async (client) => {
          let mine = 0;
          for (let index = 0; index < keys; index += 1) {
            const { rows } = await client.query<{ puts: number }>(insert, [name(index)]);
            mine += rows[0]?.puts ?? 0;
          }
          return mine;
        }),
      );
      won += counts.reduce((sum, count) => sum + count, 0);
    }
    await Promise.all(all.map((client) => client.end()));
    await dropSchema(url(), schema);
    assert.ok(won > round * keys, `${round} rounds had one winner a key`);
  });

  /** In how many rounds a commit came behind the new guard that had seen the old one. */
  async function lateCommits(
    fence: (store: MemberStore, batch: CommitBatch) => Promise<CommitResult>,
    rounds: number,
    isEnough: (late: number) => boolean,
  ): Promise<number> {
    const { store, schema, dispose } = await postgresUnderTest({ url: url(), clock: systemClock });
    const writers: MemberStore[] = [];
    for (let count = 0; count < 3; count += 1) {
      writers.push(await openPostgresStore({ url: url(), schema, clock: systemClock }));
    }
    const range = { start: prefix, end: Buffer.concat([prefix, Buffer.of(0xff)]) };
    const stored = async () =>
      (await store.range(range, { limit: 100_000, bytesMax: 1 << 30 })).entries.length;
    let late = 0;
    for (let round = 0; round < rounds && !isEnough(late); round += 1) {
      const serving = await store.commit(putOf('serving'));
      invariant(serving.ok, 'an unconditional commit succeeds');
      const guard = { key: guardKey, version: serving.version };
      const acknowledged = { count: 0 };
      const writing = writers.flatMap((writer, place) =>
        Array.from({ length: 40 }, (_, each) =>
          write(writer, { name: `${round} ${place} ${each}`, guard, acknowledged }),
        ),
      );
      while (acknowledged.count < 20) await new Promise((resolve) => setImmediate(resolve));
      assert.equal((await fence(store, putOf('fenced'))).ok, true);
      const behind = await stored();
      await Promise.all(writing);
      if ((await stored()) > behind) late += 1;
    }
    for (const writer of writers) await writer.close();
    await dispose();
    return late;
  }

  it('applies commits behind a guard that forbids them: a fence that is a plain commit', async () => {
    const late = await lateCommits(
      (store, batch) => store.commit(batch),
      roundsMax,
      (found) => found > 0,
    );
    assert.ok(late > 0);
  });

  it('is not the fence of the engine, which lets none of them through', async () => {
    const late = await lateCommits(
      (store, batch) => store.fence(batch),
      5,
      () => false,
    );
    assert.equal(late, 0);
  });
});

function putOf(text: string): CommitBatch {
  return { checks: [], puts: [{ key: guardKey, value: Buffer.from(text) }], deletes: [] };
}

interface Writing {
  readonly name: string;
  readonly guard: { readonly key: Uint8Array; readonly version: number };
  readonly acknowledged: { count: number };
}

/** Commits until the guard forbids it. */
async function write(store: MemberStore, { name, guard, acknowledged }: Writing): Promise<void> {
  for (let count = 0; ; count += 1) {
    const key = Buffer.concat([prefix, Buffer.from(`${name} ${count}`)]);
    try {
      await store.commit({
        checks: [],
        puts: [{ key, value: Buffer.from('value') }],
        deletes: [],
        guard,
      });
    } catch (error) {
      assert.ok(error instanceof GuardError, String(error));
      return;
    }
    acknowledged.count += 1;
  }
}
