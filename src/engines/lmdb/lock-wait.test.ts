import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualTimers } from '../../../test/support/manual-timers.js';
import { deferred } from '../../base/async/deferred.js';
import { quietMs, unsureMs, withinWait, writeWithinWait, type LockedFile } from './lock-wait.js';

const directory = '/data';

/** A data file whose transactions take the lock, and are on disk, when a test says so. */
function slowFile() {
  const lock = deferred();
  const disk = deferred();
  const root: LockedFile = {
    readerCheck: () => 0,
    readerList: () => '',
    async childTransaction<Result>(change: () => Result) {
      await lock.promise;
      const result = change();
      await disk.promise;
      return result;
    },
  };
  return { root, lock, disk };
}

function setUp() {
  const timers = manualTimers();
  const told: string[] = [];
  const waiting = (message: string): void => void told.push(message);
  return { timers, told, options: { directory, timers, waiting } };
}

describe('a start that takes a data directory', () => {
  it('says so when the lock is not free for a second', async () => {
    const { timers, told, options } = setUp();
    const { root, lock, disk } = slowFile();
    const work = writeWithinWait({ root }, options, () => 'taken');
    await turn();
    timers.fire(quietMs);
    assert.match(told.join('\n'), /^waiting for the lock of \/data, held by /);
    lock.resolve();
    disk.resolve();
    assert.equal(await work, 'taken');
    assert.equal(timers.waiting, 0);
  });

  it('says nothing of a lock when it has it, and only the disk is slow', async () => {
    const { timers, told, options } = setUp();
    const { root, lock, disk } = slowFile();
    lock.resolve();
    const work = writeWithinWait({ root }, options, () => 'taken');
    await turn();
    timers.fire(quietMs);
    assert.deepEqual(told, []);
    disk.resolve();
    assert.equal(await work, 'taken');
  });

  it('names the disk, not another process, when the disk never answers', async () => {
    const { timers, options } = setUp();
    const { root, lock } = slowFile();
    lock.resolve();
    const work = writeWithinWait({ root }, options, () => 'taken');
    await turn();
    while (timers.waiting > 0) timers.fire();
    await assert.rejects(work, { reason: 'disk', message: /^.*\/data.*its disk has not written/ });
  });
});

describe('a process that asks the owner of a data directory to let it in', () => {
  it('says nothing while the owner has had no time to begin, and so afterwards', async () => {
    const { timers, told, options } = setUp();
    const answer = deferred();
    const work = withinWait(answer.promise, options);
    timers.fire(quietMs);
    assert.deepEqual(told, []);
    timers.fire(unsureMs);
    assert.deepEqual(told, ['waiting for the lock of /data, held by another process']);
    answer.resolve();
    await work;
    assert.equal(timers.waiting, 0);
  });
});
