import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { openPartitions } from '../../src/app/open-partitions.js';
import { Backup } from '../../src/app/partition-backups.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { deferred } from '../../src/base/async/deferred.js';
import { systemTimers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import type { StartedJob } from '../../src/http/control/partitions.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import type { MoveStep } from '../../src/partition/rows.js';
import { hurried } from '../support/manual-timers.js';
import { operationsOver } from './composed-stores.js';

const keysCount = 1_500;
const prefix = partitionPrefix('table', 'account', 1, 'p');

/** Stores in memory, of which the first one has a range with keys. */
async function filled(timers = systemTimers) {
  const clock = manualClock();
  const stores = { b: { inMemory: true } };
  const given = { inMemory: true, stores, clock, timers, logger: silentLogger };
  const settings = settingsOf(given);
  const open = await openPartitions({ ...settings, stores: settings.stores ?? {} }, 'exclusive');
  const value = Buffer.from('value');
  const puts = Array.from({ length: keysCount }, (_, index) => {
    return { key: appendString(prefix, String(index)), value };
  });
  await open.commit({ checks: [], puts, deletes: [] });
  const { id } = (await open.catalogue.map()).at(prefix);
  return { open, clock, id };
}

/** Stores between which a range moves whose process has died behind the copy. */
async function moving(timers = systemTimers) {
  const { open, clock, id } = await filled(timers);
  const died = new Error('died');
  const onStep = (step: MoveStep) => {
    if (step === 'catch up') throw died;
  };
  const operations = operationsOver(open.members, clock, { onStep });
  const begun = await operations.beginMove(id, 'b');
  assert.ok(begun.ok);
  await assert.rejects(operations.carryOut(begun.operation), died);
  return { open, operation: begun.operation };
}

// A request that waits for all that is deleted never ends.
const hangs = { timeout: 60_000 };

void it(
  'the cancellation of a move is a job that tells how many keys are deleted',
  hangs,
  async (t) => {
    const { open, operation } = await moving();
    const control = new Partitions(open);
    const target = open.members.named('b');
    const ingest = target.ingest.bind(target);
    const { promise: isReleased, resolve: release } = deferred();
    let deletions = 0;
    t.mock.method(target, 'ingest', async (...given: Parameters<typeof ingest>) => {
      deletions += 1;
      if (deletions === 2) await isReleased;
      return ingest(...given);
    });
    const jobWhen = async (job: number, isIt: (done: number, state: string) => boolean) => {
      for (;;) {
        const found = await control.job(job);
        if (t.signal.aborted || (found !== undefined && isIt(found.done, found.state)))
          return found;
        await pause(1);
      }
    };
    const { job } = await control.cancel(operation);
    const running = await jobWhen(job, (done) => done > 0);
    assert.deepEqual([running?.state, running?.unit], ['running', 'keys']);
    assert.ok((running?.done ?? 0) < keysCount);
    release();
    const ended = await jobWhen(job, (_, state) => state !== 'running');
    assert.deepEqual([ended?.result, ended?.done], [{ cancelled: true }, keysCount]);
    const again = await control.cancel(operation);
    const over = await jobWhen(again.job, (_, state) => state !== 'running');
    assert.deepEqual(over?.result, { cancelled: false });
    await open.close();
  },
);

void it('the cancellation of a move ends although its target is silent', hangs, async (t) => {
  const { open, operation, found, mocked } = await hurried(t.signal, async (timers) => {
    const { open, operation } = await moving(timers);
    const control = new Partitions(open);
    const silent = () => new Promise(() => undefined);
    const mocked = t.mock.method(open.members.named('b'), 'get', silent);
    const { job } = await control.cancel(operation);
    let found = await control.job(job);
    while (found?.state === 'running' && !t.signal.aborted) {
      await turn();
      found = await control.job(job);
    }
    return { open, operation, found, mocked };
  });
  assert.deepEqual([found?.state, found?.result], ['done', { cancelled: true }], found?.problem);
  const left = await open.catalogue.operation(operation);
  assert.equal(left?.row.kind === 'move' && left.row.step, 'cancel', 'the target is emptied later');
  mocked.mock.restore();
  assert.equal(await open.operationRunner.operations.carryOut(operation), 'cancelled');
  await open.close();
});

void it(
  'a backup and a restore that are cancelled end with that, and are counted',
  hangs,
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'tabularium-cancelled-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const { open, id } = await filled();
    const control = new Partitions(open);
    const ended = async ({ job }: StartedJob) => {
      let found = await control.job(job);
      for (; found?.state === 'running' && !t.signal.aborted; found = await control.job(job)) {
        await pause(1);
      }
      return found;
    };
    const { home } = open.members;
    /** Cancels the only operation when it has begun to copy. */
    const cancelledIn = async (call: 'range' | 'ingest', begin: () => Promise<StartedJob>) => {
      const [begun, released] = [deferred(), deferred()];
      const real = home[call].bind(home) as (...given: unknown[]) => Promise<never>;
      const mocked = t.mock.method(home, call, async (...given: unknown[]) => {
        if (hasGuard(given)) {
          begun.resolve();
          await released.promise;
        }
        return real(...given);
      });
      const started = await begin();
      await begun.promise;
      mocked.mock.restore();
      const [operation] = (await control.list()).operations;
      assert.ok(operation !== undefined);
      const cancelled = await ended(await control.cancel(operation.operation));
      assert.deepEqual(cancelled?.result, { cancelled: true }, cancelled?.problem);
      released.resolve();
      return ended(started);
    };
    const whole = join(folder, 'whole');
    assert.equal((await ended(await control.backUp(id, whole)))?.state, 'done');
    const part = join(folder, 'part');
    const copied = await cancelledIn('range', () => control.backUp(id, part));
    assert.equal(copied?.state, 'failed');
    assert.match(
      copied.problem ?? '',
      /^The backup of range \d+, operation \d+, was cancelled, or .*/,
    );
    await assert.rejects(control.restore(id, part), /no whole backup/);
    const deletes = Array.from({ length: keysCount }, (_, at) => appendString(prefix, String(at)));
    await open.commit({ checks: [], puts: [], deletes });
    t.mock.method(Backup.prototype, 'leaveDeletedOut', () => Promise.resolve([]));
    const restored = await cancelledIn('ingest', () => control.restore(id, whole));
    assert.equal(restored?.state, 'failed');
    assert.match(restored.problem ?? '', /^The restore of range \d+, operation \d+, was cancelled/);
    assert.equal(await open.get(appendString(prefix, '0')), undefined);
    const metrics = await control.metrics();
    for (const [kind, result] of [
      ['backup', 'done'],
      ['backup', 'cancelled'],
      ['backup', 'taken over'],
      ['restore', 'cancelled'],
      ['restore', 'taken over'],
    ]) {
      assert.ok(metrics.includes(`ops_total{kind="${kind}",result="${result}"} 1\n`), metrics);
    }
    await open.close();
  },
);

/** Whether a call of an operation carries the guard of its range. */
function hasGuard(given: readonly unknown[]): boolean {
  return given.some((each) => typeof each === 'object' && each !== null && 'guard' in each);
}
