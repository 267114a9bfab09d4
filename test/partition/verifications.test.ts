import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openPartitions } from '../../src/app/open-partitions.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import { compareBytes, type Bytes } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { isVerifyResult } from '../../src/http/control/job-results.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import type { VerifyChoice } from '../../src/http/control/partitions.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { Verification } from '../../src/partition/verification.js';
import { manualTimers } from '../support/manual-timers.js';

const partitions = ['a', 'm', 't'];
const keyOf = (name: string) => appendString(partitionPrefix('table', 'account', 1, name), 'row');
// A verification that waits for a store that is silent never ends.
const hangs = { timeout: 20_000 };
/** The seconds after which what was compared is compared again. */
const day = 24 * 3_600;

/** Three ranges of entities in the home store, and a copy of a row in a store that has no range. */
async function opened(t: TestContext, timers: Timers = systemTimers) {
  const clock = manualClock();
  const stores = { b: { inMemory: true } };
  const given = { inMemory: true, stores, clock, timers, logger: silentLogger };
  const settings = settingsOf(given);
  const open = await openPartitions({ ...settings, stores: settings.stores ?? {} }, 'exclusive');
  t.after(() => open.close());
  const value = Buffer.from('value');
  const puts = partitions.map((name) => ({ key: keyOf(name), value }));
  for (const put of puts) await open.commit({ checks: [], puts: [put], deletes: [] });
  const control = new Partitions(open);
  for (const name of partitions.slice(1)) {
    const { id } = (await open.catalogue.map()).at(keyOf(name));
    await control.split(id, `table/account/#1/${name}`);
    await open.operationRunner.idle();
  }
  const stray = open.members.named('b');
  await stray.commit({ checks: [], puts: puts.slice(0, 1), deletes: [] });
  const verified = async (choice?: VerifyChoice, by = new Partitions(open)) => {
    const { job } = await by.verify(choice);
    let found = await by.job(job);
    for (; found?.state === 'running'; found = await by.job(job)) await pause(1);
    return found;
  };
  /** One whose process dies when it reads a partition of the home store. */
  const killed = async (name: string, choice?: VerifyChoice) => {
    const { home } = open.members;
    const range = home.range.bind(home);
    const mocked = t.mock.method(home, 'range', (...asked: Parameters<typeof range>) => {
      const [{ start, end }] = asked;
      const reads = compareBytes(start, keyOf(name)) < 0 && isAfter(end, keyOf(name));
      const isData = start.length > 0 && isAfter(end, start) && start[0] !== 0xfe;
      return reads && isData && isPartition(start)
        ? Promise.reject(new Error('died'))
        : range(...asked);
    });
    assert.equal((await verified(choice))?.problem, 'died');
    mocked.mock.restore();
  };
  return { open, clock, control, stray, verified, killed };
}

function isAfter(end: Bytes | undefined, key: Bytes): boolean {
  return end === undefined || compareBytes(end, key) > 0;
}

/** Whether a bound is of a partition of the table. */
function isPartition(start: Bytes): boolean {
  return compareBytes(start, partitionPrefix('table', 'account', 1, '')) > 0;
}

function resultOf(found: Awaited<ReturnType<Partitions['job']>>) {
  const result = found?.result;
  assert.ok(isVerifyResult(result), found?.problem);
  return result;
}

void describe('a verification whose process has died', () => {
  void it('is gone on with, and what it has found is told', async (t) => {
    const { stray, verified, killed } = await opened(t);
    const whole = await verified();
    assert.equal(resultOf(whole).begun, undefined);
    assert.match(resultOf(whole).findings.join(), /'b'/);
    await killed('t');
    const reads = t.mock.method(stray, 'range');
    const rest = await verified();
    assert.notEqual(resultOf(rest).begun, undefined);
    assert.deepEqual(resultOf(rest).findings, resultOf(whole).findings);
    assert.equal(rest?.done, whole?.done);
    assert.equal(reads.mock.callCount(), 0, 'the first store was compared before');
    // It has ended, so the next one compares all.
    assert.equal(resultOf(await verified()).begun, undefined);
    assert.ok(reads.mock.callCount() > 0);
  });

  void it('is not gone on with when that is not wanted, and not by one of a range', async (t) => {
    const { open, clock, verified, killed } = await opened(t);
    await killed('t');
    const { id } = (await open.catalogue.map()).at(keyOf('m'));
    assert.deepEqual(resultOf(await verified({ range: id })), { findings: [], repaired: [] });
    assert.equal(resultOf(await verified({ anew: true })).begun, undefined);
    await killed('t');
    clock.advanceMicros(day * 1e6);
    assert.equal(resultOf(await verified()).begun, undefined);
    await killed('t');
    clock.advanceMicros((day - 1) * 1e6);
    assert.notEqual(resultOf(await verified()).begun, undefined);
  });

  void it('is gone on with by the next one that dies', async (t) => {
    const { verified, killed } = await opened(t);
    const { findings: all } = resultOf(await verified());
    await killed('m');
    await killed('t');
    assert.deepEqual(resultOf(await verified()).findings, all);
  });
});

void describe('a verification of a range that an operation works on', () => {
  void it('says that the range was not compared, also when another one goes on with it', async (t) => {
    const { open, verified, killed } = await opened(t);
    const { id } = (await open.catalogue.map()).at(keyOf('a'));
    const { findings: all } = resultOf(await verified());
    const unnamed = all.filter((finding) => finding.includes('which is not there'));
    assert.equal(unnamed.length, all.length - 1, 'the rows in the other store');
    const begun = await open.operationRunner.operations.beginMove(id, 'b');
    assert.ok(begun.ok);
    const left = [
      `Range ${id} was not compared: operation ${begun.operation} works on it. ` +
        'Verify it again when that is over.',
    ];
    const told = { findings: unnamed, repaired: [], notCompared: left };
    assert.deepEqual(resultOf(await verified()), told);
    assert.deepEqual(resultOf(await verified({ repair: true })), told);
    assert.deepEqual(resultOf(await verified({ range: id })), { ...told, findings: [] });
    await killed('t');
    assert.deepEqual(resultOf(await verified()).notCompared, left);
    await killed('t');
    assert.ok(await open.operationRunner.cancel(begun.operation));
    await open.operationRunner.idle();
    const { begun: since, ...rest } = resultOf(await verified());
    assert.notEqual(since, undefined);
    assert.deepEqual(rest, { findings: all, repaired: [] }, 'what was left is compared');
  });
});

void describe('a verification whose home store is silent', () => {
  for (const hanging of ['get', 'range', 'commit'] as const) {
    void it(`ends and names that store when its ${hanging} hangs`, hangs, async (t) => {
      const timers = manualTimers();
      let isHanging = false;
      const { open, control } = await opened(t, {
        start: (...timer) => (isHanging ? timers : systemTimers).start(...timer),
      });
      isHanging = true;
      t.mock.method(open.members.home, hanging, () => new Promise<undefined>(() => undefined));
      const { job } = await control.verify();
      let found = await control.job(job);
      for (; found?.state === 'running' && !t.signal.aborted; found = await control.job(job)) {
        timers.fire();
        await pause(1);
      }
      assert.match(found?.problem ?? '', /'home' has been silent for (2|10) seconds/);
    });
  }
});

void describe('a verification that another process is at', () => {
  const until = { store: 'b', key: undefined };

  void it('is left alone until that says nothing of it any more', async (t) => {
    const { open, clock } = await opened(t);
    const { catalogue } = open;
    const by = (owner: string) =>
      Verification.begin({ catalogue, clock, owner, isAlone: false }, { anew: false });
    const first = await by('first');
    await first.noteCompared(until, [{ kind: 'location mismatch', store: 'b' }]);
    const second = await by('second');
    assert.equal(second.before, undefined);
    await second.noteCompared({ store: 'home', key: undefined }, []);
    await second.end();
    clock.advanceMicros(9_000_000);
    // It renews what it has.
    await first.noteKeys(5);
    clock.advanceMicros(9_000_000);
    assert.equal((await by('third')).before, undefined);
    clock.advanceMicros(1_000_000);
    const fourth = await by('fourth');
    assert.deepEqual(
      [fourth.before?.until, fourth.before?.keys, fourth.before?.findings],
      [until, 5, [{ kind: 'location mismatch', store: 'b' }]],
    );
    // The first one was slow, and is not dead.
    await first.noteCompared({ store: 'home', key: undefined }, []);
    await first.end();
    assert.deepEqual((await catalogue.verification())?.row.owner, 'fourth');
    await fourth.end();
    assert.equal(await catalogue.verification(), undefined);
  });
});
