import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { runSql } from '../../../test/support/engine-postgres.js';
import {
  postgresUser,
  startPostgres,
  withoutPostgres,
} from '../../../test/support/postgres-server.js';
import { mountSmallDisk } from '../../../test/support/small-disk.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { StoreWriteError } from '../../kv/errors.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { openPostgresStore } from './store.js';

const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const value = Buffer.alloc(100_000, 7);
const commitsMax = 1_000;

function putOf(index: number) {
  const key = Buffer.concat([prefix, Buffer.from(String(index).padStart(6, '0'))]);
  return { key, value };
}

void describe('a PostgreSQL store on a full disk', { skip: withoutPostgres }, () => {
  it('refuses commits, applies nothing of them, reads, and goes on when there is room', async (t) => {
    const disk = await mountSmallDisk(24, postgresUser ?? 0);
    if (disk === undefined) return t.skip('a small file system cannot be mounted here');
    await using _ = disk;
    const server = await startPostgres();
    try {
      await runSql(server.url, `create tablespace small location '${disk.folder}'`);
      const url = `${server.url}?options=-c%20default_tablespace%3Dsmall`;
      const store = await openPostgresStore({ url, clock: systemClock });
      const commit = (index: number, other: number) =>
        store.commit({ checks: [], puts: [putOf(index), putOf(other)], deletes: [] });
      let stored = 0;
      let refused: unknown;
      while (refused === undefined && stored < commitsMax) {
        // One after the other, and then many at once.
        const from = stored;
        const commits = Array.from({ length: stored < 20 ? 1 : 8 }, (__, each) =>
          commit(from + each, 100_000 + from + each),
        );
        for (const settled of await Promise.allSettled(commits)) {
          if (settled.status === 'fulfilled') stored += 1;
          else refused = settled.reason;
        }
      }
      assert.ok(refused instanceof StoreWriteError, String(refused));
      assert.match(refused.message, /No space left/);
      assert.ok(stored > 20, `${stored} commits`);
      // All that were begun settle.
      await assert.rejects(commit(99_999, 999_999), StoreWriteError);
      const count = async () => {
        const options = { limit: 100_000, bytesMax: 1 << 30, filter: () => 'use' as const };
        let found = 0;
        await store.range({ start: prefix }, { ...options, use: () => (found += 1) });
        return found;
      };
      assert.equal(await count(), 2 * stored);
      assert.deepEqual((await store.get(putOf(0).key))?.value, value);
      assert.equal(store.trouble(), undefined);
      await disk.grow(64);
      assert.equal((await commit(99_999, 999_999)).ok, true);
      assert.equal(await count(), 2 * stored + 2);
      await store.close();
    } finally {
      await server.dispose();
    }
  });
});
