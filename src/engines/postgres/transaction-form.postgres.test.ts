import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { postgresUnderTest } from '../../../test/support/engine-postgres.js';
import { postgresOfSuite } from '../../../test/support/postgres-of-suite.js';
import { withoutPostgres } from '../../../test/support/postgres-server.js';
import { it } from '../../base/conformance/limited-test.js';
import { systemClock } from '../../base/clock.js';
import { decodeCounter } from '../../kv/counter.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { openPostgresStore } from './store.js';

const rounds = 3;
const keys = 200;
const prefix = partitionPrefix('tables', 'account', 1, 'partition');
const counter = Buffer.concat([prefix, Buffer.from('count')]);

void describe('commits by plain statements', { skip: withoutPostgres }, () => {
  const server = postgresOfSuite();

  it('and those by the function decide races between them, and count together', async () => {
    const { url } = server();
    const options = { url, clock: systemClock };
    const first = await postgresUnderTest({ ...options, commitForm: 'transaction' });
    const others = await Promise.all(
      (['transaction', 'function'] as const).map((commitForm) =>
        openPostgresStore({ ...options, schema: first.schema, commitForm }),
      ),
    );
    for (let round = 0; round < rounds; round += 1) {
      const inserts = Array.from({ length: keys }, (_, index) => {
        const key = Buffer.concat([prefix, Buffer.from(`${round} ${index}`)]);
        return [first.store, ...others].map((store) =>
          store.commit({
            checks: [{ key, version: 'absent' }],
            puts: [{ key, value: Buffer.from('value') }],
            deletes: [],
            adds: [{ key: counter, delta: 1 }],
          }),
        );
      });
      const results = await Promise.all(inserts.flat());
      const versions = results.flatMap((result) => (result.ok ? [result.version] : []));
      assert.equal(versions.length, keys);
      assert.equal(new Set(versions).size, keys);
    }
    const count = await first.store.get(counter);
    assert.equal(count && decodeCounter(count.value), rounds * keys);
    for (const other of others) await other.close();
    await first.dispose();
  });
});
