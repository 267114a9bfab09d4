import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { deferred } from './deferred.js';
import { SharedRuns } from './shared-runs.js';

describe('shared runs', () => {
  it('start after every call, one at a time, and are few', async () => {
    const runs = new SharedRuns();
    let running = 0;
    const starts: number[] = [];
    let clock = 0;
    const work = async (): Promise<number> => {
      assert.equal((running += 1), 1);
      starts.push((clock += 1));
      await turn();
      running -= 1;
      return clock;
    };
    const calls = Array.from({ length: 50 }, async () => {
      const calledAt = (clock += 1);
      await runs.run('a', undefined, work);
      assert.ok(starts.some((at) => at > calledAt));
    });
    await Promise.all(calls);
    assert.equal(starts.length, 2);
    assert.equal(await runs.run('a', undefined, () => Promise.resolve(7)), 7);
  });

  it('are repeated by those that wait when the one that ran was aborted or failed', async () => {
    const runs = new SharedRuns();
    const abort = new AbortController();
    let count = 0;
    const work = async (): Promise<void> => {
      count += 1;
      await turn();
      if (count === 2) abort.abort();
      if (count === 3) throw new Error('no');
    };
    const first = runs.run('a', undefined, work);
    const aborted = runs.run('a', abort.signal, work);
    const failing = runs.run('a', undefined, work);
    const last = runs.run('a', undefined, work);
    await first;
    await aborted;
    await assert.rejects(failing, /no/);
    await last;
    assert.equal(count, 4);
  });

  it('let go whoever is aborted while it waits, and go on for the others', async () => {
    const runs = new SharedRuns();
    const [leading, waiting] = [new AbortController(), new AbortController()];
    const gate = deferred();
    const started: string[] = [];
    const call = (name: string, signal?: AbortSignal) =>
      runs.run('a', signal, async () => {
        started.push(name);
        await gate.promise;
        return name;
      });
    const first = call('first');
    const leader = call('leader', leading.signal);
    const waiter = call('waiter', waiting.signal);
    const last = call('last');
    waiting.abort();
    assert.equal(await waiter, undefined);
    leading.abort();
    assert.equal(await leader, undefined);
    assert.equal(await call('late', leading.signal), undefined);
    assert.deepEqual(started, ['first']);
    gate.resolve();
    assert.deepEqual(await Promise.all([first, last]), ['first', 'last']);
    assert.deepEqual(started, ['first', 'last']);
    assert.equal(await call('next'), 'next');
  });

  it('follow each other though the one that waits is aborted as the one before it ends', async () => {
    const runs = new SharedRuns();
    const abort = new AbortController();
    const gate = deferred();
    const first = runs.run('a', undefined, async () => {
      await gate.promise;
      // Before any caller has learned that this run has ended.
      queueMicrotask(() => abort.abort());
    });
    const aborted = runs.run('a', abort.signal, () => Promise.resolve('aborted'));
    const waiting = runs.run('a', undefined, () => Promise.resolve('waiting'));
    gate.resolve();
    await first;
    await aborted;
    assert.equal(await waiting, 'waiting');
    assert.equal(await runs.run('a', undefined, () => Promise.resolve('next')), 'next');
  });
});
