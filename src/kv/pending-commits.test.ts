import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StoreBusyError } from './errors.js';
import { PendingCommits, type Work } from './pending-commits.js';

const work: Work = { kind: 'commit', batch: { checks: [], puts: [], deletes: [] } };

function waiting(sizes: readonly number[]): PendingCommits {
  const pending = new PendingCommits(100);
  for (const bytes of sizes) void pending.add(work, bytes);
  return pending;
}

function sizesOf(pending: PendingCommits): number[] {
  return pending.take().map(({ bytes }) => bytes);
}

describe('the queue of waiting commits', () => {
  it('gives groups in order, up to the bytes of a group, and what is larger alone', () => {
    const pending = waiting([60, 40, 1, 500, 2]);
    assert.deepEqual(sizesOf(pending), [60, 40]);
    assert.deepEqual(sizesOf(pending), [1]);
    assert.deepEqual(sizesOf(pending), [500]);
    assert.deepEqual(sizesOf(pending), [2]);
    assert.deepEqual([pending.isEmpty, sizesOf(pending)], [true, []]);
  });

  it('gives groups of 512 commits at most', () => {
    const pending = waiting(Array.from({ length: 600 }, () => 0));
    assert.deepEqual([pending.take().length, pending.take().length], [512, 88]);
  });

  it('refuses a commit while 65,536 wait, and takes it afterwards', async () => {
    const pending = waiting(Array.from({ length: 65_536 }, () => 0));
    await assert.rejects(pending.add(work, 0), StoreBusyError);
    pending.take();
    void pending.add(work, 7);
    assert.equal(pending.takeAll().at(-1)?.bytes, 7);
  });
});
