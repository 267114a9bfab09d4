import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../../dist/src/base/clock.js';
import { openSchema } from './schema.js';
import { openSession, type Session } from './session.js';
import { Statements } from './statements.js';
import { CassandraStore } from './store.js';
import { commit, counterAt, keyNamed, storeKeyNamed } from './test-keys.js';
import { cluster, newStoreName } from './test-stores.js';

type Fate = 'answered' | 'applied' | 'lost' | 'late';
const fates: readonly Fate[] = ['answered', 'applied', 'lost', 'late', 'late'];

/** Changes have these fates in turn; what is late arrives a while after its call has failed. */
function withFates(session: Session, late: Promise<unknown>[]): Session {
  let count = 0;
  return {
    readInOrder: (statement) => session.readInOrder(statement),
    readPage: (statement, rowsMax, from) => session.readPage(statement, rowsMax, from),
    write: (statement) => session.write(statement),
    close: () => session.close(),
    async change(statements) {
      const fate = fates[count % fates.length] ?? 'answered';
      count += 1;
      if (fate === 'answered') return session.change(statements);
      if (fate === 'applied') await session.change(statements);
      if (fate === 'late') {
        const arrival = pause(count % 25).then(() => session.change(statements));
        late.push(arrival.catch(() => undefined));
      }
      throw new Error(`the answer is lost (${fate})`);
    },
  };
}

void describe('a change whose answer is lost', () => {
  void it('is decided once and for ever', { timeout: 300_000 }, async () => {
    const session = await openSession(cluster);
    const statements = new Statements(newStoreName());
    await openSchema(session, statements, { ...cluster, durability: 'durable' });
    const late: Promise<unknown>[] = [];
    const store = new CassandraStore({
      session: withFates(session, late),
      statements,
      clock: systemClock,
      randomness: { uuid: randomUUID, chance: () => 0.5 },
    });
    const key = keyNamed('count');
    const versions: number[] = [];
    const add = async (adds: readonly { readonly key: Uint8Array; readonly delta: number }[]) => {
      const result = await commit(store, { adds });
      assert.ok(result.ok);
      versions.push(result.version);
    };
    for (let round = 0; round < 40; round += 1) await add([{ key, delta: 1 }]);
    for (let round = 0; round < 8; round += 1) {
      await add([key, storeKeyNamed('count')].map((each) => ({ key: each, delta: 1 })));
    }
    await Promise.all(late);
    assert.ok(late.length >= 10, `${late.length} changes were late`);
    assert.equal(await counterAt(store, key), 48);
    assert.equal(await counterAt(store, storeKeyNamed('count')), 8);
    assert.deepEqual(
      versions.toSorted((left, right) => left - right),
      versions,
    );
    await store.close();
  });
});
