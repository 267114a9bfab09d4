import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { account, entity, failsWith, openService } from '../../../test/support/table-services.js';
import { manualClock } from '../../base/clock.js';
import type { Store } from '../../kv/store.js';
import { prefixRange } from '../../kv/tuple.js';
import { containerPrefix, droppedContainersPrefix } from '../containers/keys.js';
import { droppedGraceMicros } from '../containers/reclaim.js';
import type { TableService } from './table-service.js';

async function count(store: Store, prefix: Uint8Array): Promise<number> {
  const page = await store.range(prefixRange(prefix), { limit: 100_000, bytesMax: 1 << 30 });
  return page.entries.length;
}

const entitiesOf = (store: Store, id: number) =>
  count(store, containerPrefix('table', account, id));
const dropped = (store: Store) => count(store, droppedContainersPrefix('table', account));

async function fill(service: TableService, table: string, partitions: number, rows: number) {
  await service.createTable(account, table);
  for (let p = 0; p < partitions; p += 1) {
    const operations = Array.from({ length: rows }, (_, r) => ({
      kind: 'insert' as const,
      entity: entity(`p${p}`, `r${r}`),
    }));
    await service.transact(account, table, operations);
  }
}

for (const engine of ['memory', 'lmdb'] as const) {
  describe(`reclaiming over ${engine}`, () => {
    it('frees dropped tables in bounded steps and leaves the others alone', async (t) => {
      const { service, store } = await openService[engine](t);
      await fill(service, 'first', 3, 7);
      await fill(service, 'second', 2, 5);
      await fill(service, 'kept', 2, 4);
      await service.deleteTable(account, 'first');
      await service.deleteTable(account, 'second');
      await service.createTable(account, 'first');
      const steps: number[] = [];
      for (let more = true; more;) {
        const step = await service.reclaim({ entriesMax: 10 });
        steps.push(step.deleted);
        more = step.more;
      }
      assert.ok(steps.every((deleted) => deleted <= 10));
      assert.equal(
        steps.reduce((sum, deleted) => sum + deleted, 0),
        31,
      );
      assert.deepEqual(await service.reclaim({ entriesMax: 10 }), { deleted: 0, more: false });
      assert.equal(await entitiesOf(store, 1), 0);
      assert.equal(await entitiesOf(store, 2), 0);
      assert.equal((await service.queryEntities(account, 'kept', {})).entities.length, 8);
      assert.deepEqual((await service.queryEntities(account, 'first', {})).entities, []);
    });

    it('goes through all accounts', async (t) => {
      const { service } = await openService[engine](t);
      for (const name of ['acct', 'bcct', 'zcct']) {
        await service.createTable(name, 'data');
        await service.write(name, 'data', { kind: 'insert', entity: entity('p', 'r') });
        if (name !== 'bcct') await service.deleteTable(name, 'data');
      }
      assert.deepEqual(await service.reclaim({ entriesMax: 100 }), { deleted: 2, more: false });
      await service.getEntity('bcct', 'data', 'p', 'r');
    });
  });
}

describe('a dropped table', () => {
  it('is swept again for writes that were under way, then forgotten', async (t) => {
    const clock = manualClock();
    let beforeCommit: (() => Promise<void>) | undefined;
    const { service, store } = await openService.memory(t, {
      clock,
      wrap: (inner) => ({
        get: (key) => inner.get(key),
        getMany: (keys) => inner.getMany(keys),
        range: (range, options) => inner.range(range, options),
        close: () => inner.close(),
        async commit(batch) {
          const now = beforeCommit;
          beforeCommit = undefined;
          await now?.();
          return inner.commit(batch);
        },
      }),
    });
    await service.createTable(account, 'data');
    beforeCommit = async () => {
      await service.deleteTable(account, 'data');
      assert.deepEqual(await service.reclaim({ entriesMax: 10 }), { deleted: 0, more: false });
      await service.createTable(account, 'data');
    };
    await service.write(account, 'data', { kind: 'insert', entity: entity('p', 'late') });
    assert.equal(await entitiesOf(store, 1), 1);
    await assert.rejects(
      service.getEntity(account, 'data', 'p', 'late'),
      failsWith('ResourceNotFound'),
    );
    clock.advanceMicros(droppedGraceMicros + 1000);
    assert.deepEqual(await service.reclaim({ entriesMax: 10 }), { deleted: 1, more: false });
    assert.equal(await entitiesOf(store, 1), 0);
    assert.equal(await dropped(store), 1);
    await service.reclaim({ entriesMax: 10 });
    assert.equal(await dropped(store), 0);
  });

  it('stays listed for the grace time even when it was empty', async (t) => {
    const clock = manualClock();
    const { service, store } = await openService.memory(t, { clock });
    await service.createTable(account, 'data');
    await service.deleteTable(account, 'data');
    clock.advanceMicros(droppedGraceMicros - 1000);
    await service.reclaim({ entriesMax: 1 });
    assert.equal(await dropped(store), 1);
    clock.advanceMicros(2000);
    await service.reclaim({ entriesMax: 1 });
    assert.equal(await dropped(store), 0);
  });

  it('is freed completely although steps are interrupted and run side by side', async (t) => {
    let commitsLeft = Infinity;
    const { service, store } = await openService.memory(t, {
      wrap: (inner) => ({
        get: (key) => inner.get(key),
        getMany: (keys) => inner.getMany(keys),
        range: (range, options) => inner.range(range, options),
        close: () => inner.close(),
        async commit(batch) {
          commitsLeft -= 1;
          if (commitsLeft < 0) throw new Error('power cut');
          return inner.commit(batch);
        },
      }),
    });
    await fill(service, 'data', 20, 3);
    await service.deleteTable(account, 'data');
    commitsLeft = 4;
    await assert.rejects(service.reclaim({ entriesMax: 1000 }), /power cut/);
    assert.equal(await entitiesOf(store, 1), 48);
    commitsLeft = Infinity;
    await Promise.all(Array.from({ length: 3 }, () => service.reclaim({ entriesMax: 30 })));
    await service.reclaim({ entriesMax: 100 });
    assert.equal(await entitiesOf(store, 1), 0);
  });
});
