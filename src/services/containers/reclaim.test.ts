import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { note, noteKind, type NoteRecord } from '../../../test/support/containers.js';
import { engineNames, openTestStore, type EngineName } from '../../../test/support/stores.js';
import { nextTurn } from '../../base/async/turns.js';
import { manualClock, type Clock } from '../../base/clock.js';
import { invariant } from '../../base/invariant.js';
import { openMemoryStore } from '../../engines/memory/store.js';
import { withPartitionRule } from '../../kv/partition-rule.js';
import type { Store } from '../../kv/store.js';
import { appendString, prefixRange, stringAt } from '../../kv/tuple.js';
import { Containers } from './containers.js';
import { containerPrefix, droppedContainersPrefix } from './keys.js';
import { droppedContainersSweep, droppedGraceMicros } from './reclaim.js';
import { costly } from '../../../test/support/run-length.js';

const account = 'acct';

async function open(engine: EngineName, t: TestContext) {
  const clock = manualClock();
  const store = withPartitionRule(await openTestStore(engine, t, clock));
  const containers = new Containers(store, noteKind);
  const round = droppedContainersSweep(store, clock, noteKind.service);
  const reclaim = (entriesMax: number) => round.step(entriesMax);
  /** The numbers of entries that each step deletes, until nothing is left. */
  const reclaimAll = async (entriesMax: number): Promise<number[]> => {
    const { deleted, more } = await reclaim(entriesMax);
    return more ? [deleted, ...(await reclaimAll(entriesMax))] : [deleted];
  };
  return { clock, store, containers, reclaim, reclaimAll };
}

async function fill(store: Store, prefix: Uint8Array | undefined, rows: readonly string[]) {
  invariant(prefix !== undefined, 'the container exists');
  const partition = appendString(prefix, 'p');
  const puts = rows.map((row) => ({ key: appendString(partition, row), value: new Uint8Array() }));
  await store.commit({ checks: [], puts, deletes: [] });
}

async function rowsOf(store: Store, id: number): Promise<string[]> {
  const partition = appendString(containerPrefix(noteKind.service, account, id), 'p');
  const range = prefixRange(partition);
  const { entries } = await store.range(range, { limit: 10_000, bytesMax: 1 << 30 });
  return entries.map(({ key }) => stringAt(key, partition.length));
}

async function droppedCount(store: Store): Promise<number> {
  const range = prefixRange(droppedContainersPrefix(noteKind.service, account));
  return (await store.range(range, { limit: 10_000, bytesMax: 1 << 30 })).entries.length;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

const renewed = (old: NoteRecord, id: number): NoteRecord => ({ ...old, id });

for (const engine of engineNames) {
  describe(`reclaiming emptied containers over ${engine}`, () => {
    it('removes what each of their former ids held, and nothing of the present one', async (t) => {
      const { store, containers, reclaimAll } = await open(engine, t);
      await containers.create(account, 'box', note('box'));
      for (const row of ['first', 'second']) {
        await fill(store, await containers.prefixOf(account, 'box'), [row, 'same']);
        await containers.replaceId(account, 'box', renewed);
      }
      await fill(store, await containers.prefixOf(account, 'box'), ['third', 'same']);
      assert.equal(await droppedCount(store), 2);
      const steps = await reclaimAll(3);
      assert.ok(steps.every((deleted) => deleted <= 3));
      assert.equal(sum(steps), 4);
      assert.deepEqual(await rowsOf(store, 1), []);
      assert.deepEqual(await rowsOf(store, 2), []);
      assert.deepEqual(await rowsOf(store, 3), ['same', 'third']);
    });

    it('frees the writes that looked the container up before it was emptied', async (t) => {
      const { clock, store, containers, reclaim } = await open(engine, t);
      await containers.create(account, 'box', note('box'));
      const before = await containers.prefixOf(account, 'box');
      await containers.replaceId(account, 'box', renewed);
      await fill(store, await containers.prefixOf(account, 'box'), ['kept']);
      assert.deepEqual(await reclaim(10), { deleted: 0, more: false });
      await fill(store, before, ['late']);
      clock.advanceMicros(droppedGraceMicros + 1000);
      assert.deepEqual(await reclaim(10), { deleted: 1, more: false });
      assert.equal(await droppedCount(store), 1);
      assert.deepEqual(await reclaim(10), { deleted: 0, more: false });
      assert.equal(await droppedCount(store), 0);
      assert.deepEqual(await rowsOf(store, 2), ['kept']);
    });

    it('keeps to one service', async (t) => {
      const { store, containers, reclaim } = await open(engine, t);
      const others = new Containers(store, { ...noteKind, service: 'notes' });
      for (const each of [containers, others]) {
        await each.create(account, 'box', note('box'));
        await fill(store, await each.prefixOf(account, 'box'), ['row']);
        await each.drop(account, 'box');
      }
      assert.deepEqual(await reclaim(10), { deleted: 1, more: false });
      const left = prefixRange(containerPrefix('notes', account, 1));
      assert.equal((await store.range(left, { limit: 10, bytesMax: 1000 })).entries.length, 1);
    });

    it('reaches every container of a list longer than a page', costly(), async (t) => {
      const { store, containers, reclaimAll } = await open(engine, t);
      await containers.create(account, 'box', note('box'));
      const clears = 1100;
      for (let clear = 0; clear < clears; clear += 1) {
        if (clear % 100 === 99) await fill(store, await containers.prefixOf(account, 'box'), ['r']);
        await containers.replaceId(account, 'box', renewed);
      }
      assert.equal(await droppedCount(store), clears);
      const steps = await reclaimAll(100);
      assert.equal(sum(steps), 11);
      assert.ok(steps.length > 1, 'no step looks at all of them');
    });
  });
}

describe('a sweep of dropped containers', () => {
  /** A memory store that counts range reads and concurrent commits. */
  async function counted(clock: Clock) {
    const inner = await openMemoryStore({ clock });
    const seen = { ranges: 0, committing: 0, committingMax: 0 };
    const store: Store = {
      get: (key) => inner.get(key),
      getMany: (keys) => inner.getMany(keys),
      close: () => inner.close(),
      range(range, options) {
        seen.ranges += 1;
        return inner.range(range, options);
      },
      async commit(batch) {
        seen.committing += 1;
        seen.committingMax = Math.max(seen.committingMax, seen.committing);
        await nextTurn();
        const result = await inner.commit(batch);
        seen.committing -= 1;
        return result;
      },
    };
    const containers = new Containers(store, noteKind);
    return { store, seen, containers };
  }

  it('deletes the rows of many partitions at once', async () => {
    const clock = manualClock();
    const { store, seen, containers } = await counted(clock);
    await containers.create(account, 'box', note('box'));
    const prefix = await containers.prefixOf(account, 'box');
    invariant(prefix !== undefined, 'the container exists');
    for (const partition of ['a', 'b', 'c', 'd']) {
      const key = appendString(appendString(prefix, partition), 'row');
      await store.commit({ checks: [], puts: [{ key, value: new Uint8Array() }], deletes: [] });
    }
    await containers.drop(account, 'box');
    seen.committingMax = 0;
    const round = droppedContainersSweep(store, clock, noteKind.service);
    assert.equal((await round.step(3)).deleted, 3);
    assert.equal(seen.committingMax, 3);
    assert.deepEqual(await round.step(3), { deleted: 1, more: false });
  });

  it('reads for a bounded time, however many rows it may delete', async () => {
    const clock = manualClock();
    const { store, containers } = await counted(clock);
    await containers.create(account, 'box', note('box'));
    const rows = Array.from({ length: 100 }, (_, row) => `r${String(row).padStart(3, '0')}`);
    await fill(store, await containers.prefixOf(account, 'box'), rows);
    await containers.drop(account, 'box');
    const slow: Clock = {
      nowMicros: () => clock.nowMicros(),
      monotonicMs() {
        clock.advanceMicros(100);
        return clock.monotonicMs();
      },
    };
    const round = droppedContainersSweep(store, slow, noteKind.service);
    for (let left = rows.length; left > 0;) {
      const { deleted, more } = await round.step(1_000);
      assert.ok(deleted > 0 && deleted < 50, `${deleted} rows`);
      left -= deleted;
      assert.equal(more, left > 0);
    }
  });

  it('does not look again into a container that was empty, before the grace time', async () => {
    const clock = manualClock();
    const { store, seen, containers } = await counted(clock);
    for (let index = 0; index < 50; index += 1) {
      await containers.create(account, `box${index}`, note(`box${index}`));
      await containers.drop(account, `box${index}`);
    }
    const round = droppedContainersSweep(store, clock, noteKind.service);
    await round.step(10);
    seen.ranges = 0;
    await round.step(10);
    assert.ok(seen.ranges < 10, `${seen.ranges} ranges`);
    clock.advanceMicros(droppedGraceMicros + 1000);
    while ((await round.step(10)).more);
    assert.equal(await droppedCount(store), 0);
  });
});
