import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CommitBatch } from '../../kv/store.js';
import { WaitingWorks } from './waiting-works.js';

const nothing: CommitBatch = { checks: [], puts: [], deletes: [], adds: [] };

function put(key: string): CommitBatch {
  return { ...nothing, puts: [{ key: Buffer.from(key), value: Buffer.from(key) }] };
}

function check(key: string): CommitBatch {
  return { ...nothing, checks: [{ key: Buffer.from(key), version: 'absent' }] };
}

function add(key: string): CommitBatch {
  return { ...nothing, adds: [{ key: Buffer.from(key), delta: 1 }] };
}

/** The groups that batches are taken in, by their places. */
function groupsOf(batches: readonly (CommitBatch | 'fence')[]): number[][] {
  const works = new WaitingWorks();
  for (const batch of batches) {
    const isFence = batch === 'fence';
    const work = { kind: 'commit', batch: isFence ? put('fence') : batch } as const;
    void works.add(work, 1, isFence);
  }
  const places = new Map<CommitBatch, number>();
  for (const [place, batch] of batches.entries()) if (batch !== 'fence') places.set(batch, place);
  const groups: number[][] = [];
  for (let group = works.take(); group !== undefined; group = works.take()) {
    const found = group.works.map(({ work }) =>
      work.kind === 'commit' ? (places.get(work.batch) ?? batches.indexOf('fence')) : -1,
    );
    groups.push(found);
  }
  return groups;
}

describe('commits that wait for a connection', () => {
  it('share a group when none writes what another touches', () => {
    assert.deepEqual(groupsOf([put('a'), put('b'), check('c'), check('c')]), [[0, 1, 2, 3]]);
  });

  it('keep their order when one writes what another touches', () => {
    assert.deepEqual(groupsOf([put('a'), check('a'), put('b')]), [[0, 2], [1]]);
    assert.deepEqual(groupsOf([check('a'), put('a'), put('a'), put('b')]), [[0, 3], [1], [2]]);
    // The third would overtake the second, which waits for the first.
    const second = { ...put('b'), checks: check('a').checks };
    assert.deepEqual(groupsOf([put('a'), second, check('b')]), [[0], [1], [2]]);
  });

  it('share a group when they add to the same counter', () => {
    assert.deepEqual(groupsOf([add('n'), add('n'), add('n')]), [[0, 1, 2]]);
    assert.deepEqual(groupsOf([add('n'), check('n'), add('n')]), [[0], [1], [2]]);
  });

  it('are not overtaken by, and do not overtake, what has a round trip for itself', () => {
    assert.deepEqual(groupsOf([put('a'), 'fence', put('b')]), [[0], [1], [2]]);
  });
});
