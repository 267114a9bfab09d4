import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { appendString } from '../../kv/tuple.js';
import { droppedContainerKey } from '../../services/containers/keys.js';
import { unnamedContainers } from './references.js';

void describe('data of tables and queues that are not there', () => {
  void it('are found, and no others', async () => {
    const store = await openMemoryStore({ clock: manualClock() });
    const put = async (service: string, account: string, id: number) => {
      const key = appendString(partitionPrefix(service, account, id, 'p'), 'row');
      const put = { key, value: Buffer.from('value') };
      await store.commit({ checks: [], puts: [put], deletes: [] });
    };
    // Of each account: 1 has a name, 2 is being freed, 3 is neither.
    for (const account of ['one', 'two']) {
      for (const id of [1, 2, 3]) await put('table', account, id);
      const dropped = { key: droppedContainerKey('table', account, 2), value: Buffer.alloc(0) };
      await store.commit({ checks: [], puts: [dropped], deletes: [] });
    }
    await put('queue', 'one', 9);
    let looked = 0;
    const found = await unnamedContainers(store, {
      namesOf: (service) => Promise.resolve(new Map(service === 'table' ? [[1, 'people']] : [])),
      onKeys: (keys) => {
        looked += keys;
        return Promise.resolve();
      },
    });
    assert.deepEqual(found, [
      { place: 'table/one/#3', what: 'entities' },
      { place: 'table/two/#3', what: 'entities' },
      { place: 'queue/one/#9', what: 'messages' },
    ]);
    assert.ok(looked >= 7);
  });

  void it('are not found when they are freed meanwhile', async () => {
    const store = await openMemoryStore({ clock: manualClock() });
    const key = appendString(partitionPrefix('table', 'one', 3, 'p'), 'row');
    const put = { key, value: Buffer.from('value') };
    await store.commit({ checks: [], puts: [put], deletes: [] });
    const found = await unnamedContainers(store, {
      namesOf: async () => {
        await store.commit({ checks: [], puts: [], deletes: [key] });
        return new Map();
      },
      onKeys: () => Promise.resolve(),
    });
    assert.deepEqual(found, []);
  });
});
