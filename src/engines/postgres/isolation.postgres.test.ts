import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe } from 'node:test';
import { postgresUnderTest, runSql } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { Store } from '../../kv/store.js';
import { openPostgresStore } from './store.js';
import { inSchema } from './statements.js';

const keys = 200;
const stores = 3;
/** Of the race for keys that had to be absent, with one length of the pause. */
const racesMax = 20;
const prefix = partitionPrefix('tables', 'account', 1, 'partition');

/**
 * How keys are inserted: `alone` by the function for that, `beside` others by that for all commits.
 */
type Insertion = 'alone' | 'beside';

/** All stores insert each key at the same time. Resolves with the number of those that did. */
async function race(
  contenders: readonly Store[],
  round: number,
  insertion: Insertion,
): Promise<number> {
  const others = insertion === 'alone' ? [] : [{ key: prefix, version: 'absent' as const }];
  const inserts = Array.from({ length: keys }, (_, index) => {
    const key = Buffer.concat([prefix, Buffer.from(`${round} ${index}`)]);
    const batch = {
      checks: [{ key, version: 'absent' as const }, ...others],
      puts: [{ key, value: Buffer.from('value') }],
      deletes: [],
    };
    return contenders.map(async (store) => (await store.commit(batch)).ok);
  });
  const won = await Promise.all(inserts.flat());
  return won.filter(Boolean).length;
}

void describe('commits of several PostgreSQL stores', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  /** Stores on one schema, whose functions `change` has changed. */
  async function contend(insertion: Insertion, change: (sql: string) => string): Promise<number[]> {
    const { url } = server();
    const first = await postgresUnderTest({ url, clock: systemClock });
    const { schema } = first;
    const folder = new URL('../../../../src/engines/postgres/sql/', import.meta.url);
    const files = ['0004-commits.sql', '0005-inserts.sql'];
    const texts = await Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')));
    const sql = texts.join('\n').replaceAll('create function', 'create or replace function');
    await runSql(url, inSchema(change(sql), schema));
    const others = await Promise.all(
      Array.from({ length: stores - 1 }, () =>
        openPostgresStore({ url, schema, clock: systemClock }),
      ),
    );
    const won: number[] = [];
    const isOver = () => won.length >= 5 && (won.some((count) => count > keys) || change === asIs);
    while (!isOver() && won.length < racesMax) {
      const races = race([first.store, ...others], won.length, insertion);
      // Commits without locks may also end in a deadlock: then nobody is counted.
      won.push(await (change === asIs ? races : races.catch(() => 0)));
    }
    for (const other of others) await other.close();
    await first.dispose();
    return won;
  }

  const asIs = (sql: string): string => sql;

  it('lets one of them win each key that has to be absent', async () => {
    for (const insertion of ['alone', 'beside'] as const) {
      assert.deepEqual(
        await contend(insertion, asIs),
        Array.from({ length: 5 }, () => keys),
      );
    }
  });

  it('would let several win without the locks of slots', async () => {
    const unlocked = (pauseSeconds: number) => (sql: string) => {
      const changed = sql.replaceAll(
        /(from tabularium\.kv_slot[^;]*?order by slot) for update/g,
        '$1',
      );
      assert.notEqual(changed, sql);
      // The row of a slot is written by each commit: that would be a lock as well, if a late one. A
      // pause in its place lets others check before this one writes.
      return changed.replaceAll(
        /update tabularium\.kv_slot set last = next_version[^;]*;/g,
        `perform pg_sleep(${pauseSeconds});`,
      );
    };
    let races = 0;
    // On a busy machine the others come later: then a longer pause finds them.
    for (const pauseSeconds of [0.02, 0.2, 1]) {
      const won = await contend('beside', unlocked(pauseSeconds));
      if (won.some((count) => count > keys)) return;
      races += won.length;
    }
    assert.fail(`${races} races had one winner a key`);
  });
});
