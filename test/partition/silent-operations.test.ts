import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import { Backup } from '../../src/app/partition-backups.js';
import type { Partitions } from '../../src/app/partition-control.js';
import { deferred } from '../../src/base/async/deferred.js';
import { manualClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { CommitUnknownError } from '../../src/kv/errors.js';
import { operationKey } from '../../src/partition/keys.js';
import { encodeOperationRow } from '../../src/partition/rows.js';
import { hangs, isSilent, opened, silentFrom, splitAt } from './silent-world.js';

void describe('a cancellation ends although the home store is silent', () => {
  async function moving(t: TestContext) {
    const world = await opened(t);
    const begun = await world.open.operationRunner.operations.beginMove(world.range, 'b');
    assert.ok(begun.ok);
    const { operation } = begun;
    const problem = async () =>
      (await world.ended(() => world.control.cancel(operation)))?.problem ?? '';
    return { ...world, operation, problem };
  }

  void it('before it has begun', hangs, async (t) => {
    const { open, problem, silent } = await moving(t);
    t.mock.method(open.members.home, 'get', silent);
    assert.match(await problem(), /'home' has been silent for 2 seconds\. Nothing was changed/);
  });

  void it('when it may begin later', hangs, async (t) => {
    const { control, operation, problem, late } = await moving(t);
    const commit = late();
    const told = await problem();
    assert.match(told, /'home' has been silent for 10 seconds\. Operation \d+ may be cancelled/);
    await commit.goOn();
    const { operations } = await control.list();
    assert.deepEqual(
      operations.map(({ operation, step }) => ({ operation, step })),
      [{ operation, step: 'cancel' }],
    );
  });

  void it('when it goes on later', hangs, async (t) => {
    const { open, control, problem, silent } = await moving(t);
    const mocked = t.mock.method(open.members.home, 'fence', silent);
    const told = await problem();
    assert.match(
      told,
      /'home' has been silent .* is cancelled, and not undone yet\. A server goes/,
    );
    mocked.mock.restore();
    await open.operationRunner.tend({ takesAll: true });
    await open.operationRunner.idle();
    const { operations, ranges } = await control.list();
    assert.deepEqual(operations, []);
    assert.ok(ranges.every(({ state }) => state === 'serving'));
  });
});

const lost = (): Promise<never> => Promise.reject(new CommitUnknownError('The answer was lost.'));

void describe('an operation that a silent home store begins late', () => {
  const answers = { late: undefined, unknown: lost } as const;
  const begins: Readonly<Record<string, (control: Partitions, range: number) => Promise<unknown>>> =
    {
      split: (control, range) => control.split(range, 'table/account/#2/q'),
      move: (control, range) => control.move(range, 'b'),
    };
  for (const [name, begin] of Object.entries(begins)) {
    for (const answer of ['late', 'unknown'] as const) {
      void it(`is ended: a ${name}, whose answer is ${answer}`, hangs, async (t) => {
        const { open, control, range, asked, late } = await opened(t);
        const commit = late(answers[answer]);
        const begun = asked(() => begin(control, range));
        await assert.rejects(begun, isSilent(`'home'`));
        await assert.rejects(begun, /Operation \d+ has not begun\. Should .* partition list shows/);
        const { nextId } = (await open.catalogue.mapRow()).row;
        await commit.goOn();
        // The commit was applied, or there would be nothing to end.
        assert.ok((await open.catalogue.mapRow()).row.nextId > nextId);
        while ((await open.catalogue.operations()).length > 0) {
          t.signal.throwIfAborted();
          await turn();
        }
        assert.equal((await open.catalogue.range(range))?.row.operation, 0);
      });
    }
  }

  void it('is cancelled where another process has taken it over', hangs, async (t) => {
    const { open, control, range, asked, late } = await opened(t);
    const { nextId } = (await open.catalogue.mapRow()).row;
    const commit = late(async (result) => {
      const found = await open.catalogue.operation(nextId);
      assert.ok(found);
      const value = encodeOperationRow({ ...found.row, token: 2 });
      const put = { key: operationKey(nextId), value };
      await open.catalogue.commit({ checks: [], puts: [put] });
      return result;
    });
    await assert.rejects(
      asked(() => control.move(range, 'b')),
      isSilent(`'home'`),
    );
    await commit.goOn();
    while ((await open.catalogue.range(range))?.row.operation !== 0) {
      t.signal.throwIfAborted();
      await turn();
    }
    assert.equal((await open.catalogue.range(range))?.row.store, 'home');
  });

  void it('is left alone where another one has its number', hangs, async (t) => {
    const { open, control, range, asked, silent } = await opened(t);
    const unknown = deferred();
    const mocked = t.mock.method(open.members.home, 'commit', async () => {
      await unknown.promise;
      return lost();
    });
    await assert.rejects(
      asked(() => control.move(range, 'b')),
      isSilent(`'home'`),
    );
    mocked.mock.restore();
    const other = await open.operationRunner.operations.beginSplit(range, splitAt);
    assert.ok(other.ok);
    unknown.resolve();
    for (let turns = 0; turns < 100; turns += 1) await turn();
    assert.deepEqual(
      (await open.catalogue.operations()).map(({ row }) => row.id),
      [other.operation],
    );
    t.mock.method(open.members.home, 'get', silent);
  });
});

void describe('an operation on ranges does not wait for a silent store', () => {
  const silences = [
    ['home', 'range', 1, 'its source is read'],
    ['home', 'fence', 1, 'its source is taken'],
    ['home', 'fence', 2, 'its source is to log'],
    ['b', 'get', 1, 'its target is asked'],
    ['b', 'fence', 1, 'its target is taken'],
    ['b', 'fence', 2, 'its target is to serve'],
    ['b', 'ingest', 1, 'its target is written'],
  ] as const;
  for (const [store, method, from, when] of silences) {
    void it(`a move, when ${when}, and the list says which one it is`, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      const begun = await open.operationRunner.operations.beginMove(range, 'b');
      assert.ok(begun.ok);
      const mocked = silentFrom(t, { store: open.members.named(store), method, from, silent });
      await asked(() => {
        open.operationRunner.run(begun.operation);
        return open.operationRunner.idle();
      });
      mocked.mock.restore();
      const [found] = (await control.list()).operations;
      const problem = new RegExp(`^The store '${store}' has been silent for (2|10) seconds`);
      assert.match(found?.problem ?? '', problem);
      // It goes on when the store answers.
      await open.operationRunner.tend({ takesAll: true });
      await open.operationRunner.idle();
      const { ranges, operations } = await control.list();
      assert.equal(ranges.find((each) => each.range === range)?.store, 'b');
      assert.deepEqual(operations, []);
    });
  }

  void it('a split, when the guards are changed', hangs, async (t) => {
    const { open, range, asked, silent } = await opened(t);
    const begun = await open.operationRunner.operations.beginSplit(range, splitAt);
    assert.ok(begun.ok);
    const mocked = silentFrom(t, { store: open.members.home, method: 'fence', from: 2, silent });
    await assert.rejects(
      asked(() => open.operationRunner.operations.carryOut(begun.operation)),
      isSilent(`'home'`),
    );
    mocked.mock.restore();
    assert.equal(await open.operationRunner.operations.carryOut(begun.operation), 'done');
  });

  for (const silentStore of ['source', 'target'] as const) {
    void it(`a backup, when its ${silentStore} is silent, and serves`, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      const target = await openMemoryStore({ clock: manualClock() });
      const begun = await open.operationRunner.operations.beginBackup(range);
      assert.ok(begun.ok);
      if (silentStore === 'target') t.mock.method(target, 'ingest', silent);
      else t.mock.method(open.members.home, 'range', silent);
      const copied = asked(() => open.operationRunner.operations.backUp(begun.operation, target));
      const name = silentStore === 'target' ? 'The directory of the backup' : `'home'`;
      await assert.rejects(copied, isSilent(name));
      t.mock.restoreAll();
      await open.operationRunner.tend({ takesAll: true });
      await open.operationRunner.idle();
      const { ranges, operations } = await control.list();
      assert.deepEqual(operations, []);
      assert.ok(ranges.every(({ state }) => state === 'serving'));
    });
  }

  void it('a restore, when the directory of the backup is silent', hangs, async (t) => {
    const { asked, silent } = await opened(t);
    const store = await openMemoryStore({ clock: manualClock() });
    t.mock.method(store, 'range', silent);
    const read = asked(async (timers) => {
      const { pages } = await new Backup(store, '/backup', timers).source();
      for await (const entries of pages) assert.deepEqual(entries, []);
    });
    await assert.rejects(read, isSilent('The directory of the backup'));
  });
});
