import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CommitBatch } from '../../kv/store.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
import { WriteQueue, type Group } from './write-queue.js';

const nothing: CommitBatch = { checks: [], puts: [], deletes: [], adds: [] };

/** A row; those of one partition share a slot. */
function keyOf(row: string, partition = 'p'): Buffer {
  return Buffer.concat([partitionPrefix('tables', 'account', 1, partition), Buffer.from(row)]);
}

function put(row: string, ...partitions: readonly string[]): CommitBatch {
  const of = partitions.length === 0 ? ['p'] : partitions;
  return {
    ...nothing,
    puts: of.map((partition) => ({ key: keyOf(row, partition), value: Buffer.from(row) })),
  };
}

function check(row: string): CommitBatch {
  return { ...nothing, checks: [{ key: keyOf(row), version: 'absent' }] };
}

function add(row: string): CommitBatch {
  return { ...nothing, adds: [{ key: keyOf(row), delta: 1 }] };
}

type Given = readonly (CommitBatch | 'fence')[];

function worksOf(batches: Given): WriteQueue {
  const works = new WriteQueue();
  for (const batch of batches) {
    const isFence = batch === 'fence';
    const work = { kind: 'commit', batch: isFence ? put('fence') : batch } as const;
    void works.add(work, 1, isFence);
  }
  return works;
}

/** The places of the batches of a group. */
function placesOf(group: Group | undefined, batches: Given): readonly number[] {
  return (group?.works ?? []).map(({ work }) => {
    const place = batches.findIndex((batch) => work.kind === 'commit' && batch === work.batch);
    return place === -1 ? batches.indexOf('fence') : place;
  });
}

/** The groups that batches are taken in one after the other, by their places. */
function groupsOf(batches: Given): readonly (readonly number[])[] {
  const works = worksOf(batches);
  const groups: (readonly number[])[] = [];
  for (let group = works.take(); group !== undefined; group = works.take()) {
    groups.push(placesOf(group, batches));
    works.release(group);
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

  it('pass over those whose partition is under way, while others wait', () => {
    const batches = ['p', 'p', 'q', 'r', 'p'].map((partition, at) => put(String(at), partition));
    const works = worksOf(batches.slice(0, 1));
    const first = works.take();
    for (const batch of batches.slice(1)) void works.add({ kind: 'commit', batch }, 1, false);
    const second = works.take();
    assert.deepEqual(placesOf(second, batches), [2, 3]);
    assert.ok(first !== undefined && second !== undefined);
    works.release(first);
    assert.deepEqual(placesOf(works.take(), batches), [1, 4]);
  });

  it('are taken although their partition is under way when nothing else waits', () => {
    const batches = [put('a'), put('b')];
    const works = worksOf(batches.slice(0, 1));
    works.take();
    void works.add({ kind: 'commit', batch: put('b') }, 1, false);
    assert.equal(works.take()?.works.length, 1);
  });

  it('wait for a group under way that writes what they touch, and others pass them', () => {
    const batches = [put('a'), put('a'), check('a'), put('b')];
    const works = worksOf(batches.slice(0, 1));
    const first = works.take();
    assert.ok(first !== undefined);
    for (const batch of batches.slice(1)) void works.add({ kind: 'commit', batch }, 1, false);
    const beside = works.take();
    assert.deepEqual(placesOf(beside, batches), [3]);
    assert.equal(works.take(), undefined);
    works.release(first);
    const second = works.take();
    assert.deepEqual(placesOf(second, batches), [1]);
    assert.equal(works.take(), undefined, 'the check comes behind the second write');
    assert.ok(second !== undefined);
    works.release(second);
    assert.deepEqual(placesOf(works.take(), batches), [2]);
  });

  it('do not wait for ever for several partitions that are under way in turns', () => {
    const batches = [
      put('0', 'p'),
      put('1', 'q'),
      put('2', 'p', 'q'),
      put('3', 'p'),
      put('4', 'r'),
    ];
    const works = worksOf([]);
    const taken: Group[] = [];
    const next = (...places: readonly number[]) => {
      for (const at of places) {
        void works.add({ kind: 'commit', batch: batches[at] ?? nothing }, 1, false);
      }
      const group = works.take();
      assert.ok(group !== undefined);
      taken.push(group);
      return placesOf(group, batches);
    };
    assert.deepEqual([next(0), next(1)], [[0], [1]]);
    const [first] = taken;
    assert.ok(first !== undefined);
    works.release(first);
    // That of `p` would overtake the one that waits for `q` as well.
    assert.deepEqual(next(2, 3, 4), [4]);
  });
});
