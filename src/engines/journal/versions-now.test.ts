import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { journalDirectory } from '../../../test/support/journals.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import type { CommitBatch } from '../../kv/store.js';
import { encodeTuple } from '../../kv/tuple.js';
import type { JournalBase, JournaledStore } from './store.js';

const key = Buffer.concat([partitionPrefix('T', 'account', 1, 'p'), encodeTuple(['row'])]);
const putting = { checks: [], puts: [{ key, value: Buffer.alloc(10) }], deletes: [] };
const deleting = { checks: [], puts: [], deletes: [key] };

async function committed(store: JournaledStore, batch: CommitBatch): Promise<number> {
  const result = await store.commit(batch);
  assert.ok(result.ok);
  return result.version;
}

/** Reports what is done with a base. */
function watched(base: JournalBase, seen: (name: string) => void): JournalBase {
  return new Proxy(base, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target);
      if (typeof found !== 'function') return found;
      return (...args: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(found, target, args);
        if (!(result instanceof Promise)) seen(String(name));
        return result instanceof Promise ? result.finally(() => seen(String(name))) : result;
      };
    },
  });
}

describe('versions that a journal tells at once', () => {
  it('are those of the last commit, also when the base has it and after another one', async () => {
    await using made = await journalDirectory();
    const store = await made.open();
    // A snapshot gives the base everything.
    for (const inBase of [false, true]) {
      const version = await committed(store, putting);
      if (inBase) await store.takeSnapshot();
      assert.deepEqual([store.versionNow(key), store.versionNow(key)], [version, version]);
      const next = await committed(store, putting);
      assert.equal(store.versionNow(key), next);
      if (inBase) await store.takeSnapshot();
      assert.equal(store.versionNow(key), next);
      await committed(store, deleting);
      assert.equal(store.versionNow(key), undefined);
      await store.takeSnapshot();
      assert.equal(store.versionNow(key), undefined);
    }
  });

  it('are asked of the base once', async () => {
    await using made = await journalDirectory();
    const asked: string[] = [];
    const store = await made.open({
      base: (memory) => watched(memory, (name) => asked.push(name)),
    });
    const version = await committed(store, putting);
    await store.takeSnapshot();
    asked.length = 0;
    const told = [1, 2, 3].map(() => store.versionNow(key));
    assert.deepEqual(told, [version, version, version]);
    assert.deepEqual(asked, ['versionNow']);
  });

  it('are those of the snapshot from the moment on when the base has it', async () => {
    await using made = await journalDirectory();
    const restored: (number | undefined)[] = [];
    const store: JournaledStore = await made.open({
      base: (memory) =>
        watched(memory, (name) => {
          if (name === 'restoreSnapshot') restored.push(store.versionNow(key));
        }),
    });
    const first = await committed(store, putting);
    const snapshot = await store.takeSnapshot();
    const second = await committed(store, putting);
    await store.takeSnapshot();
    assert.equal(store.versionNow(key), second);
    await store.restoreSnapshot(snapshot);
    assert.deepEqual(restored, [first]);
    assert.equal(store.versionNow(key), first);
  });
});
