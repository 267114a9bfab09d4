import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openCassandraStore, type CassandraStore } from './index.js';
import { commit, counterAt, keyNamed, storeKeyNamed, textOf } from './test-keys.js';
import { cluster, newStoreName, spawnStore } from './test-stores.js';

void describe('a commit of a prefix and of keys of the store', () => {
  const name = newStoreName();
  let store: CassandraStore;
  before(async () => {
    store = await openCassandraStore({ ...cluster, store: name });
  });
  after(() => store.close());

  void it('is applied whole, with one version', async () => {
    const keys = [keyNamed('a'), storeKeyNamed('a')];
    const puts = keys.map((key) => ({ key, value: textOf('first') }));
    const first = await commit(store, { puts });
    assert.ok(first.ok);
    const adds = [
      { key: keyNamed('count'), delta: 2 },
      { key: storeKeyNamed('count'), delta: 3 },
    ];
    const second = await commit(store, { deletes: keys, adds });
    assert.ok(second.ok && second.version > first.version);
    assert.deepEqual(await store.getMany(keys), [undefined, undefined]);
    const counters = await store.getMany(adds.map(({ key }) => key));
    assert.deepEqual(
      counters.map((entry) => entry?.version),
      [second.version, second.version],
    );
    const page = await store.range({ start: Buffer.alloc(0) }, { limit: 10, bytesMax: 1_000 });
    assert.equal(page.entries.length, 1);
    assert.equal(page.more, true, 'the keys of the store follow');
    assert.equal(await counterAt(store, storeKeyNamed('count')), 3);
  });

  void it('tells the first check that failed, wherever its key is, and applies nothing', async () => {
    const present = { key: keyNamed('there'), value: textOf('v') };
    const result = await commit(store, {
      puts: [present, { ...present, key: storeKeyNamed('there') }],
    });
    assert.ok(result.ok);
    const { version } = result;
    const puts = [keyNamed('new'), storeKeyNamed('new')].map((key) => ({
      key,
      value: textOf('v'),
    }));
    const right = { key: keyNamed('there'), version };
    const rightOfStore = { key: storeKeyNamed('there'), version };
    const wrong = { key: keyNamed('there'), version: 'absent' } as const;
    const wrongOfStore = { key: storeKeyNamed('there'), version: 'absent' } as const;
    for (const [checks, failedCheck] of [
      [[right, wrongOfStore], 1],
      [[rightOfStore, wrong], 1],
      [[wrongOfStore, wrong], 0],
      [[right, rightOfStore, wrong, wrongOfStore], 2],
      [[right, wrongOfStore, wrong], 1],
    ] as const) {
      const failed = { ok: false, failedCheck, actual: version };
      assert.deepEqual(await commit(store, { checks, puts }), failed);
    }
    assert.deepEqual(await store.getMany(puts.map(({ key }) => key)), [undefined, undefined]);
    assert.ok((await commit(store, { checks: [right, rightOfStore], puts })).ok);
  });

  void it('leaves no half behind when its process is killed', { timeout: 300_000 }, async () => {
    const ofPrefix = keyNamed('killed');
    const ofStore = storeKeyNamed('killed');
    const adds = [
      { key: ofPrefix, delta: 1 },
      { key: ofStore, delta: 1 },
    ];
    let acknowledged = 0;
    for (let round = 0; round < 6; round += 1) {
      const child = await spawnStore(name);
      const over = new AbortController();
      const writer = async (): Promise<void> => {
        let left = 3;
        while (!over.signal.aborted) {
          const result = await commit(child.store, { adds }).catch(() => undefined);
          if (result?.ok === true) acknowledged += 1;
          left -= 1;
          if (left > 0) continue;
          // Kills it at another distance into the next commit each round.
          left = Infinity;
          setTimeout(() => {
            over.abort();
            void child.kill();
          }, round * 8);
        }
      };
      await writer();
      await child.kill();
      const counted = await counterAt(store, ofPrefix);
      assert.equal(await counterAt(store, ofStore), counted, `round ${round}`);
      assert.ok(counted >= acknowledged);
    }
  });
});
