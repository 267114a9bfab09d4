import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openPartitions } from '../../src/app/open-partitions.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { deferred } from '../../src/base/async/deferred.js';
import { manualClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import { isPartitionsInfo } from '../../src/http/control/job-results.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { StoreNotOpenError } from '../../src/partition/members.js';

const keys = ['p', 'q'].map((name) =>
  appendString(partitionPrefix('table', 'account', 2, name), 'row'),
);

/**
 * Stores in memory whose home store reads what it measures and answers once `answer` was called.
 */
async function opened(t: TestContext) {
  const clock = manualClock();
  const settings = settingsOf({
    inMemory: true,
    stores: { b: { inMemory: true } },
    clock,
    logger: silentLogger,
  });
  const open = await openPartitions({ ...settings, stores: settings.stores ?? {} }, 'exclusive');
  const puts = keys.map((key) => ({ key, value: Buffer.from('value') }));
  for (const put of puts) await open.commit({ checks: [], puts: [put], deletes: [] });
  const { promise: isAnswered, resolve: answer } = deferred();
  const { home } = open.members;
  const sample = home.sample.bind(home);
  t.mock.method(home, 'sample', async (...given: Parameters<typeof sample>) => {
    const found = await sample(...given);
    await isAnswered;
    return found;
  });
  const control = new Partitions(open);
  const jobWhen = async (
    job: number,
    isIt: (found: Awaited<ReturnType<typeof control.job>>) => boolean,
  ) => {
    for (;;) {
      const found = await control.job(job);
      if (isIt(found)) return found;
      await pause(1);
    }
  };
  const [, range] = (await open.catalogue.map()).ranges;
  return { open, control, answer, jobWhen, range: range?.id ?? 0 };
}

// A request that waits for what it measures never ends.
const hangs = { timeout: 60_000 };

void describe('a job that measures ranges', () => {
  void it('is begun at once, and tells how many keys it has read', hangs, async (t) => {
    const { open, control, answer, jobWhen, range } = await opened(t);
    const cut = await control.halve(range);
    const sizes = await control.sizes();
    for (const { job } of [cut, sizes]) {
      const running = await jobWhen(
        job,
        (found) => (found?.done ?? 0) >= (job === cut.job ? 2 : 0),
      );
      assert.deepEqual([running?.state, running?.unit], ['running', 'keys']);
    }
    answer();
    const halved = await jobWhen(cut.job, (found) => found?.state !== 'running');
    assert.equal(halved?.state, 'done');
    await open.operationRunner.idle();
    assert.equal((await open.catalogue.map()).ranges.length, 3);
    assert.equal((await jobWhen(sizes.job, (found) => found?.state !== 'running'))?.state, 'done');
    const again = await control.sizes();
    const measured = await jobWhen(again.job, (found) => found?.state !== 'running');
    assert.equal(measured?.state, 'done');
    assert.ok(isPartitionsInfo(measured.result));
    const { ranges } = measured.result;
    assert.deepEqual(
      ranges.map((each) => each.keys),
      [0, 1, 1],
    );
    await open.close();
  });

  void it(
    'is refused where nothing can be cut, before and behind the reading',
    hangs,
    async (t) => {
      const { open, control, answer, jobWhen, range } = await opened(t);
      answer();
      await open.commit({ checks: [], puts: [], deletes: [keys[1] ?? Buffer.alloc(0)] });
      const { job } = await control.halve(range);
      const refused = await jobWhen(job, (found) => found?.state !== 'running');
      assert.equal(refused?.state, 'refused');
      assert.match(refused?.problem ?? '', /fewer than two partitions/);
      assert.ok((await open.operationRunner.operations.beginMove(range, 'b')).ok);
      await assert.rejects(control.halve(range), /Another operation works on range/);
      await open.close();
    },
  );

  void it('measures a range again that has moved meanwhile', hangs, async (t) => {
    const { open, control, answer, jobWhen, range } = await opened(t);
    answer();
    const { home } = open.members;
    const sample = home.sample.bind(home);
    const { operationRunner } = open;
    const mocked = t.mock.method(home, 'sample', async (...given: Parameters<typeof sample>) => {
      const { start } = given[0];
      const isMeant = (await open.catalogue.map()).at(start).id === range;
      if (!isMeant) return sample(...given);
      mocked.mock.restore();
      const begun = await operationRunner.operations.beginMove(range, 'b');
      assert.ok(begun.ok);
      await operationRunner.operations.carryOut(begun.operation);
      return sample(...given);
    });
    const { job } = await control.sizes();
    const measured = await jobWhen(job, (found) => found?.state !== 'running');
    assert.ok(isPartitionsInfo(measured?.result), measured?.problem);
    const found = measured.result.ranges.find((each) => each.range === range);
    assert.deepEqual([found?.store, found?.keys], ['b', 2]);
    await open.close();
  });

  void it(
    'measures a range in its new store when the former one was taken out',
    hangs,
    async (t) => {
      const { open, control, answer, jobWhen, range } = await opened(t);
      answer();
      const { home } = open.members;
      const sample = home.sample.bind(home);
      const { operations } = open.operationRunner;
      const mocked = t.mock.method(home, 'sample', async (...given: Parameters<typeof sample>) => {
        const isMeant = (await open.catalogue.map()).at(given[0].start).id === range;
        if (!isMeant) return sample(...given);
        mocked.mock.restore();
        const begun = await operations.beginMove(range, 'b');
        assert.ok(begun.ok);
        await operations.carryOut(begun.operation);
        throw new StoreNotOpenError('home');
      });
      const { job } = await control.sizes();
      const measured = await jobWhen(job, (found) => found?.state !== 'running');
      assert.ok(isPartitionsInfo(measured?.result), measured?.problem);
      const found = measured.result.ranges.find((each) => each.range === range);
      assert.deepEqual([found?.store, found?.keys], ['b', 2]);
      await open.close();
    },
  );

  void it('fails as its store does when the range stays there', hangs, async (t) => {
    const { open, control, answer, jobWhen, range } = await opened(t);
    answer();
    t.mock.method(open.members.home, 'sample', () => Promise.reject(new Error('unreadable')));
    const { job } = await control.halve(range);
    const ended = await jobWhen(job, (found) => found?.state !== 'running');
    assert.deepEqual([ended?.state, ended?.problem], ['failed', 'unreadable']);
    await open.close();
  });

  void it('says of a range that moves again and again that it moves', hangs, async (t) => {
    const { open, control, answer, jobWhen, range } = await opened(t);
    answer();
    const look = open.catalogue.range.bind(open.catalogue);
    let epoch = 1_000;
    t.mock.method(open.catalogue, 'range', async (...given: Parameters<typeof look>) => {
      const found = await look(...given);
      epoch += 1;
      return found && { ...found, row: { ...found.row, epoch } };
    });
    const { job } = await control.halve(range);
    const ended = await jobWhen(job, (found) => found?.state !== 'running');
    assert.equal(ended?.state, 'refused');
    assert.match(ended?.problem ?? '', /moves again and again .* in the store 'home' now.*--at/);
    await open.close();
  });
});
