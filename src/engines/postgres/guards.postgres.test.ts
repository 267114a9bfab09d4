import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { postgresUnderTest } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { GuardError } from '../../kv/errors.js';
import { partitionPrefix, storeKey } from '../../kv/partition-prefix.js';
import { shortKeyBytesMax } from './long-keys.js';

const key = Buffer.concat([partitionPrefix('tables', 'account', 1, 'p'), Buffer.from('row')]);
const value = Buffer.from('value');

void describe('a guard whose key is in the table of long keys', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  for (const commitForm of ['function', 'transaction'] as const) {
    it(`holds and refuses as others do, by ${commitForm}`, async () => {
      const options = { url: server().url, clock: systemClock, commitForm };
      const { store, dispose } = await postgresUnderTest(options);
      const guardKey = storeKey('guard', 'long'.repeat(shortKeyBytesMax / 4));
      assert.ok(guardKey.length > shortKeyBytesMax);
      const puts = [{ key, value }];
      const written = await store.fence({
        checks: [],
        puts: [{ key: guardKey, value }],
        deletes: [],
      });
      assert.ok(written.ok);
      const commit = (version: number) =>
        store.commit({ checks: [], puts, deletes: [], guard: { key: guardKey, version } });
      const ingest = (version: number) =>
        store.ingest({
          entries: [{ key, value, version: 1 }],
          deletes: [],
          floor: 1,
          guard: { key: guardKey, version },
        });
      assert.equal((await commit(written.version)).ok, true);
      await ingest(written.version);
      const isRefusal = (error: unknown) => {
        assert.ok(error instanceof GuardError);
        return error.actual === written.version;
      };
      await assert.rejects(commit(written.version + 1), isRefusal);
      await assert.rejects(ingest(written.version + 1), isRefusal);
      await dispose();
    });
  }
});
