import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../../base/clock.js';
import { StoreDamagedError } from '../../kv/errors.js';
import type { CommitBatch } from '../../kv/store.js';
import { CommitGroups, type CommitTarget } from './commit-groups.js';
import type { Evaluated } from './evaluation.js';

/** Writes nothing; remembers what it was given to write together. */
function targetOf(written: string[][]): CommitTarget {
  return {
    makeRoom: async () => undefined,
    read: async (keys) => keys.map(() => undefined),
    lastVersion: () => 0,
    async apply(changes: readonly Evaluated[]) {
      written.push(changes.map(({ name }) => name));
    },
  };
}

function putOf(name: string): CommitBatch {
  const key = Buffer.from(name);
  return { checks: [], puts: [{ key, value: key }], deletes: [] };
}

describe('groups of commits', () => {
  it('write together what arrives in one turn of the event loop, however it arrives', async () => {
    const written: string[][] = [];
    const groups = new CommitGroups(targetOf(written), manualClock());
    const commits: Promise<unknown>[] = [];
    const commit = (name: string) => {
      commits.push(groups.carryOut({ kind: 'commit', batch: putOf(name) }));
    };
    commit('at once');
    await new Promise<void>((resolve) => process.nextTick(resolve));
    commit('in another tick');
    for (let microtask = 0; microtask < 20; microtask += 1) await Promise.resolve();
    commit('in later microtasks');
    await Promise.all(commits);
    assert.deepEqual(written, [['at once', 'in another tick', 'in later microtasks']]);
  });

  it('write the last change of a key alone, and add up the additions to a counter', async () => {
    const written: string[][] = [];
    const groups = new CommitGroups(targetOf(written), manualClock());
    const key = Buffer.from('count');
    const batch: CommitBatch = { ...putOf('row'), adds: [{ key, delta: 1 }] };
    await Promise.all(Array.from({ length: 10 }, () => groups.carryOut({ kind: 'commit', batch })));
    assert.deepEqual(written, [['row', 'count']]);
  });

  it('write together what is left when an entry that one of them needs cannot be read', async () => {
    const written: string[][] = [];
    const damage = new StoreDamagedError('the row is damaged');
    const target: CommitTarget = {
      ...targetOf(written),
      async read(keys) {
        if (keys.some((key) => Buffer.from(key).equals(Buffer.from('damaged')))) throw damage;
        return keys.map((key) => ({ value: key, version: key.length }));
      },
    };
    const groups = new CommitGroups(target, manualClock());
    const checking = (name: string, checked: string) => {
      const checks = [{ key: Buffer.from(checked), version: checked.length }];
      return groups.carryOut({ kind: 'commit', batch: { ...putOf(name), checks } });
    };
    const commits = [
      checking('first', 'row'),
      checking('refused', 'damaged'),
      checking('none', 'other'),
      checking('last', 'another row'),
    ];
    const settled = await Promise.allSettled(commits);
    assert.deepEqual(
      settled.map((each): unknown => (each.status === 'fulfilled' ? each.value.ok : each.reason)),
      [true, damage, true, true],
    );
    assert.deepEqual(written, [['first', 'none', 'last']]);
    assert.deepEqual(groups.stats(), { commits: 3, syncs: 1 });
    const alone = groups.carryOut({
      kind: 'commit',
      batch: { ...putOf('alone'), checks: [{ key: Buffer.from('damaged'), version: 1 }] },
    });
    await assert.rejects(alone, damage);
  });

  it('write what arrives later in a group of its own', async () => {
    const written: string[][] = [];
    const groups = new CommitGroups(targetOf(written), manualClock());
    await groups.carryOut({ kind: 'commit', batch: putOf('first') });
    await groups.carryOut({ kind: 'commit', batch: putOf('second') });
    assert.deepEqual(written, [['first'], ['second']]);
    assert.deepEqual(groups.stats(), { commits: 2, syncs: 2 });
  });
});
