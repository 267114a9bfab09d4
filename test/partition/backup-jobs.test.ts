import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { openPartitions } from '../../src/app/open-partitions.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { deferred } from '../../src/base/async/deferred.js';
import { manualClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';

const folder = mkdtempSync(join(tmpdir(), 'tabularium-backup-jobs-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const key = appendString(partitionPrefix('table', 'account', 2, 'p'), 'row');

/** Two stores in memory, whose second range has an entry. */
async function opened() {
  const clock = manualClock();
  const settings = settingsOf({
    inMemory: true,
    stores: { b: { inMemory: true } },
    clock,
    logger: silentLogger,
  });
  const open = await openPartitions({ ...settings, stores: settings.stores ?? {} }, 'exclusive');
  await open.commit({ checks: [], puts: [{ key, value: Buffer.from('value') }], deletes: [] });
  const [, range] = (await open.catalogue.map()).ranges;
  const control = new Partitions(open);
  const ended = async (job: number, signal: AbortSignal) => {
    for (;;) {
      const found = await control.job(job);
      if (found?.state !== 'running' || signal.aborted) return found;
      await pause(5);
    }
  };
  return { open, clock, control, range: range?.id ?? 0, ended };
}

// A job that waits for the sample never ends.
const hangs = { timeout: 60_000 };

void describe('a backup of a range of a server', () => {
  void it('does not wait until the size of the range is known', hangs, async (t) => {
    const { open, clock, control, range, ended } = await opened();
    const { promise: isMeasured, resolve: measured } = deferred();
    const { home } = open.members;
    const sample = home.sample.bind(home);
    const mocked = t.mock.method(home, 'sample', async (...given: Parameters<typeof sample>) => {
      await isMeasured;
      return sample(...given);
    });
    const { job } = await control.backUp(range, join(folder, 'slow'));
    assert.equal((await ended(job, t.signal))?.state, 'done');
    assert.equal(mocked.mock.callCount(), 1);
    // So nobody has to take over what waits for longer than its lease.
    clock.advanceMicros(11_000_000);
    await open.operationRunner.tend();
    assert.deepEqual(await open.catalogue.operations(), []);
    measured();
    await open.close();
  });

  void it('is made, and restored, when the size cannot be measured', hangs, async (t) => {
    const { open, control, range, ended } = await opened();
    t.mock.method(open.members.home, 'sample', () => Promise.reject(new Error('no sample')));
    const directory = join(folder, 'unmeasured');
    const made = await ended((await control.backUp(range, directory)).job, t.signal);
    assert.deepEqual([made?.state, made?.total], ['done', undefined]);
    await open.commit({ checks: [], puts: [], deletes: [key] });
    const restored = await ended((await control.restore(range, directory)).job, t.signal);
    assert.equal(restored?.state, 'done');
    assert.equal(String((await open.get(key))?.value), 'value');
    await open.close();
  });
});
