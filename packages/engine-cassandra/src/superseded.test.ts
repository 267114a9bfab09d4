import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { manualClock } from '../../../dist/src/base/clock.js';
import { rowsWithin, placeOf } from './places.js';
import { openSchema } from './schema.js';
import { openSession } from './session.js';
import { Statements } from './statements.js';
import { CassandraStore } from './store.js';
import { commit, keyNamed, textOf } from './test-keys.js';
import { cluster, newStoreName } from './test-stores.js';

const neededMicros = 60_000_000;

void describe('versions that were superseded', () => {
  void it('stay for reads that have begun, and go later', { timeout: 120_000 }, async (t) => {
    const session = await openSession(cluster);
    const statements = new Statements(newStoreName());
    await openSchema(session, statements, { ...cluster, durability: 'durable' });
    const clock = manualClock();
    const randomness = { uuid: randomUUID, chance: () => 0.5 };
    const store = new CassandraStore({ session, statements, clock, randomness });
    t.after(() => store.close());
    const { prefix } = placeOf(keyNamed(''));
    const rows = rowsWithin(prefix, { start: prefix });
    assert.ok(rows !== undefined);
    const statement = statements.readBetween(prefix, rows.from, rows.to, false);
    const versions = async () => (await session.readPage(statement, 100)).rows.length;

    const put = (name: string, text: string) => ({ key: keyNamed(name), value: textOf(text) });
    for (const text of ['1', '2', '3']) await commit(store, { puts: [put('a', text)] });
    await commit(store, { puts: [put('b', 'v')] });
    await commit(store, { deletes: [keyNamed('b')] });
    assert.equal(await versions(), 5);
    await store.removeSuperseded();
    assert.equal(await versions(), 5, 'a read may have begun before');
    clock.advanceMicros(neededMicros);
    // Of `a` the second version waited behind the first.
    await store.removeSuperseded();
    clock.advanceMicros(neededMicros);
    await store.removeSuperseded();
    assert.equal(await versions(), 1);
    assert.equal(String(Buffer.from((await store.get(keyNamed('a')))?.value ?? [])), '3');
    assert.equal(await store.get(keyNamed('b')), undefined);
    await commit(store, { puts: [put('b', 'again')] });
    assert.equal(String(Buffer.from((await store.get(keyNamed('b')))?.value ?? [])), 'again');
  });
});
