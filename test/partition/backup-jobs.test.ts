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
import { PartitionRefusal, type RestoreChoice } from '../../src/http/control/partitions.js';
import { boundOf } from '../../src/partition/bound-text.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { Containers } from '../../src/services/containers/containers.js';
import type { PolicedRecord } from '../../src/services/containers/stored-policies.js';
import { mountSmallDisk } from '../support/small-disk.js';
import { tableKind } from '../../src/services/tables/table-record.js';

const folder = mkdtempSync(join(tmpdir(), 'tabularium-backup-jobs-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** The key of the only entity of a table. */
const keyOf = (id: number) => appendString(partitionPrefix('table', 'account', id, 'p'), 'row');
const key = keyOf(1);
const identifiers: PolicedRecord['identifiers'] = [];

/** Two stores in memory; of the given tables, the first one has a range from its start on. */
async function opened(names: readonly string[] = ['movies']) {
  const clock = manualClock();
  const settings = settingsOf({
    inMemory: true,
    stores: { b: { inMemory: true } },
    clock,
    logger: silentLogger,
  });
  const open = await openPartitions({ ...settings, stores: settings.stores ?? {} }, 'exclusive');
  const control = new Partitions(open);
  const tables = new Containers(open, tableKind);
  for (const name of names) {
    const { record } = await tables.create('account', name, (id) => ({ id, name, identifiers }));
    const put = { key: keyOf(record.id), value: Buffer.from('value') };
    await open.commit({ checks: [], puts: [put], deletes: [] });
  }
  const [, whole] = (await open.catalogue.map()).ranges;
  await control.split(whole?.id ?? 0, 'table/account/#1');
  await open.operationRunner.idle();
  const range = (await open.catalogue.map()).at(key);
  const ended = async (job: number, signal: AbortSignal) => {
    for (;;) {
      const found = await control.job(job);
      if (found?.state !== 'running' || signal.aborted) return found;
      await pause(5);
    }
  };
  return { open, clock, control, tables, range: range.id, ended };
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

void describe('a backup whose disk is soon full', () => {
  void it('says where, and that it is no backup', hangs, async (t) => {
    await using disk = await mountSmallDisk(2, process.getuid?.() ?? 0);
    if (disk === undefined) return t.skip('this user may not mount a file system');
    const { open, control, range, ended } = await opened();
    for (let nth = 0; nth < 60; nth += 1) {
      const row = appendString(partitionPrefix('table', 'account', 1, 'p'), `large-${nth}`);
      const put = { key: row, value: Buffer.alloc(60_000) };
      await open.commit({ checks: [], puts: [put], deletes: [] });
    }
    const directory = join(disk.folder, 'backup');
    const failed = await ended((await control.backUp(range, directory)).job, t.signal);
    assert.equal(failed?.state, 'failed');
    const problem = failed.problem ?? '';
    assert.ok(problem.includes(`. What is in ${directory} is no whole backup: see that`), problem);
    await assert.rejects(control.restore(range, directory), /There is no whole backup/);
    await open.close();
  });
});

void describe('a restore of a range of a server', () => {
  void it('is refused, before it writes, when the table was deleted since', hangs, async (t) => {
    const { open, control, tables, range, ended } = await opened();
    const directory = join(folder, 'deleted');
    await ended((await control.backUp(range, directory)).job, t.signal);
    await tables.drop('account', 'movies');
    await open.commit({ checks: [], puts: [], deletes: [key] });
    await tables.create('account', 'movies', (id) => ({ id, name: 'movies', identifiers }));
    const commits = t.mock.method(open.home, 'commit');
    await assert.rejects(control.restore(range, directory), (error: Error) => {
      assert.ok(error instanceof PartitionRefusal, String(error));
      assert.match(error.message, /is of table\/account\/#1, .* --as table\/ACCOUNT\/TABLE\.$/);
      return true;
    });
    assert.equal(commits.mock.callCount(), 0);
    assert.deepEqual(await open.catalogue.operations(), []);
    // As the refusal says.
    const { job } = await control.restore(range, directory, { as: 'table/account/movies' });
    assert.equal((await ended(job, t.signal))?.state, 'done');
    assert.equal(String((await open.get(keyOf(2)))?.value), 'value');
    await open.close();
  });

  void it('brings one table back of several that were all deleted since', hangs, async (t) => {
    const { open, control, tables, range, ended } = await opened(['movies', 'actors']);
    const directory = join(folder, 'all-deleted');
    await ended((await control.backUp(range, directory)).job, t.signal);
    for (const name of ['movies', 'actors']) await tables.drop('account', name);
    await open.commit({ checks: [], puts: [], deletes: [key, keyOf(2)] });
    await tables.create('account', 'again', (id) => ({ id, name: 'again', identifiers }));
    const refused = async (choice: RestoreChoice, says: RegExp) => {
      await assert.rejects(control.restore(range, directory, choice), (error: Error) => {
        assert.ok(error instanceof PartitionRefusal, String(error));
        assert.match(error.message, says);
        return true;
      });
    };
    const as = 'table/account/again';
    await refused(
      {},
      /of table\/account\/#1, table\/account\/#2, .* --of table\/account\/#1, for one/,
    );
    await refused({ as }, /not of one table or queue.*--of table\/account\/#1/);
    for (const of of ['table/account/#9', 'table/account/movies', 'table/account/#0', '%']) {
      await refused({ as, of }, /has no entries of /);
    }
    const { job } = await control.restore(range, directory, { as, of: 'table/account/#2' });
    assert.equal((await ended(job, t.signal))?.state, 'done');
    assert.equal(String((await open.get(keyOf(3)))?.value), 'value');
    for (const id of [1, 2]) assert.equal(await open.get(keyOf(id)), undefined);
    await open.close();
  });

  void it('leaves out, and tells, what is of a table that was deleted since', hangs, async (t) => {
    const { open, control, tables, range, ended } = await opened(['kept', 'gone']);
    const directory = join(folder, 'some');
    await ended((await control.backUp(range, directory)).job, t.signal);
    await tables.drop('account', 'gone');
    await open.commit({ checks: [], puts: [], deletes: [key, keyOf(2)] });
    const { job } = await control.restore(range, directory);
    const leftOut = ['table/account/#2'];
    assert.deepEqual((await ended(job, t.signal))?.result, { directory, leftOut });
    assert.notEqual(await open.get(key), undefined);
    assert.equal(await open.get(keyOf(2)), undefined);
    await open.close();
  });

  void it('brings tables back whose names are in the backup as well', hangs, async (t) => {
    const { open, control, range, ended } = await opened();
    const { ranges } = await open.catalogue.map();
    const names = ranges[ranges.findIndex(({ id }) => id === range) - 1];
    await control.merge(names?.id ?? 0, range);
    await open.operationRunner.idle();
    const whole = (await open.catalogue.map()).at(key).id;
    const directory = join(folder, 'names');
    await ended((await control.backUp(whole, directory)).job, t.signal);
    const all = { start: boundOf('queue') ?? Buffer.alloc(0), end: boundOf('~') ?? key };
    const { entries } = await open.range(all, { limit: 100, bytesMax: 1 << 20 });
    for (const entry of entries) {
      await open.commit({ checks: [], puts: [], deletes: [entry.key] });
    }
    const { job } = await control.restore(whole, directory);
    assert.deepEqual((await ended(job, t.signal))?.result, { directory, leftOut: [] });
    const restored = await open.range(all, { limit: 100, bytesMax: 1 << 20 });
    assert.equal(restored.entries.length, entries.length);
    await open.close();
  });
});
