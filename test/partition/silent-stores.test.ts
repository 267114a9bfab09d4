import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import { openPartitions } from '../../src/app/open-partitions.js';
import { Backup } from '../../src/app/partition-backups.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { deferred } from '../../src/base/async/deferred.js';
import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import { startsWith } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import type { StartedJob } from '../../src/http/control/partitions.js';
import { CommitUnknownError, StoreUnavailableError } from '../../src/kv/errors.js';
import type { GuardedBatch } from '../../src/kv/guards.js';
import type { CommitResult } from '../../src/kv/store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { addMember } from '../../src/partition/admission.js';
import { loadRows, operationKey } from '../../src/partition/keys.js';
import { encodeOperationRow } from '../../src/partition/rows.js';
import { containerNamesPrefix } from '../../src/services/containers/keys.js';
import { addedAs } from './composed-stores.js';
import { hurried } from '../support/manual-timers.js';

// What waits for a silent store without a limit never ends.
const hangs = { timeout: 20_000 };

const keys = ['p', 'q'].map((name) =>
  appendString(partitionPrefix('table', 'account', 2, name), 'row'),
);

const splitAt = partitionPrefix('table', 'account', 2, 'q');

/** The home store, which has the entities of a table, and one that has a copy of one of them. */
async function opened(t: TestContext) {
  const state: { timers: Timers } = { timers: systemTimers };
  const settings = settingsOf({
    inMemory: true,
    stores: { b: { inMemory: true } },
    clock: manualClock(),
    timers: { start: (...timer) => state.timers.start(...timer) },
    logger: silentLogger,
  });
  const open = await openPartitions({ ...settings, stores: settings.stores ?? {} }, 'exclusive');
  const { promise: isOver, resolve: end } = deferred();
  /** A call that has no answer while the test runs. */
  const silent = async (): Promise<never> => {
    await isOver;
    throw new StoreUnavailableError('The test is over.');
  };
  t.after(() => {
    t.mock.restoreAll();
    end();
    return open.close();
  });
  const puts = keys.map((key) => ({ key, value: Buffer.from('value') }));
  for (const put of puts) await open.commit({ checks: [], puts: [put], deletes: [] });
  const stray = { checks: [], puts: puts.slice(0, 1), deletes: [] };
  await open.members.named('b').commit(stray);
  const control = new Partitions(open);
  const [, { id: range } = { id: 0 }] = (await open.catalogue.map()).ranges;
  /** Does work of people that waits for nothing. */
  const asked = async <Result>(work: (timers: Timers) => Promise<Result>): Promise<Result> => {
    try {
      return await hurried(t.signal, (timers) => {
        state.timers = timers;
        return work(timers);
      });
    } finally {
      state.timers = systemTimers;
    }
  };
  const ended = (start: () => Promise<StartedJob>) =>
    asked(async () => {
      const { job } = await start();
      let found = await control.job(job);
      while (found?.state === 'running' && !t.signal.aborted) {
        await turn();
        found = await control.job(job);
      }
      return found;
    });
  /**
   * Makes commits of the home store wait until `goOn`, which resolves when they were carried out.
   * `answer`: what becomes of the answer then.
   */
  const late = (answer = (result: CommitResult) => Promise.resolve(result)) => {
    const commit = open.members.home.commit.bind(open.members.home);
    const { promise: mayGoOn, resolve: letGoOn } = deferred();
    const { promise: isDone, resolve: done } = deferred();
    const mocked = t.mock.method(open.members.home, 'commit', async (batch: GuardedBatch) => {
      await mayGoOn;
      const result = await commit(batch);
      done();
      return answer(result);
    });
    const goOn = (): Promise<void> => {
      mocked.mock.restore();
      letGoOn();
      return isDone;
    };
    return { goOn };
  };
  return { open, control, range, asked, ended, silent, late };
}

function isSilent(name: string): (error: Error) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreUnavailableError, String(error));
    assert.match(error.message, new RegExp(`${name} has been silent for (2|10) seconds`));
    return true;
  };
}

void describe('a request about ranges ends although the home store is silent', () => {
  const requests: Readonly<
    Record<string, (control: Partitions, range: number) => Promise<unknown>>
  > = {
    list: (control) => control.list(),
    halve: (control, range) => control.halve(range),
    move: (control, range) => control.move(range, 'b'),
    merge: (control, range) => control.merge(range - 1, range),
    verify: (control, range) => control.verify({ range }),
    backUp: (control, range) => control.backUp(range, '/nowhere'),
    operation: (control) => control.operation(99),
    metrics: (control) => control.metrics(),
  };
  for (const [name, request] of Object.entries(requests)) {
    void it(name, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      t.mock.method(open.members.home, 'get', silent);
      t.mock.method(open.members.home, 'range', silent);
      await assert.rejects(
        asked(() => request(control, range)),
        isSilent(`'home'`),
      );
    });
  }

  void it('list, which reads loads and the names of tables', hangs, async (t) => {
    const { open, control, range, asked, silent } = await opened(t);
    await control.split(range, 'table/account/#2/q');
    await open.operationRunner.idle();
    const read = open.home.range.bind(open.home);
    for (const [rows, store] of [
      [loadRows.start, `'home'`],
      [containerNamesPrefix('table', 'account'), 'A store'],
    ] as const) {
      const mocked = t.mock.method(open.home, 'range', (...given: Parameters<typeof read>) =>
        startsWith(given[0].start, rows) ? silent() : read(...given),
      );
      await assert.rejects(
        asked(() => control.list()),
        isSilent(store),
      );
      mocked.mock.restore();
    }
  });

  void it('restore, which looks whether the range is empty', hangs, async (t) => {
    const { open, range, asked, silent } = await opened(t);
    t.mock.method(open.members.home, 'range', silent);
    await assert.rejects(
      asked(() => open.operationRunner.operations.beginRestore(range)),
      isSilent(`'home'`),
    );
  });

  void it('split, which reads the name of a table', hangs, async (t) => {
    const { open, control, range, asked, silent } = await opened(t);
    t.mock.method(open, 'get', silent);
    await assert.rejects(
      asked(() => control.split(range, 'table/account/movies/q')),
      isSilent('A store'),
    );
  });
});

void describe('a job about ranges ends although a store is silent', () => {
  void it('when sizes are measured, and when a range is halved', hangs, async (t) => {
    const { open, control, range, ended, silent } = await opened(t);
    t.mock.method(open.members.home, 'sample', silent);
    for (const start of [() => control.sizes(), () => control.halve(range)]) {
      const found = await ended(start);
      assert.match(found?.problem ?? '', /'home' has been silent for 10 seconds/);
    }
  });

  void it('when a verification looks for tables that are not there', hangs, async (t) => {
    const { open, control, range, ended, silent } = await opened(t);
    await control.move(range, 'b');
    await open.operationRunner.idle();
    const store = open.members.named('b');
    const read = store.range.bind(store);
    t.mock.method(store, 'range', (...given: Parameters<typeof read>) =>
      given[1].bytesMax === 1 ? silent() : read(...given),
    );
    const found = await ended(() => control.verify());
    assert.match(found?.problem ?? '', /A store has been silent for 10 seconds/);
  });

  for (const [store, method] of [
    ['home', 'commit'],
    ['b', 'ingest'],
  ] as const) {
    void it(`when a repair waits for the ${method} of '${store}'`, hangs, async (t) => {
      const { open, control, range, ended, silent } = await opened(t);
      const mocked = t.mock.method(open.members.named(store), method, silent);
      const found = await ended(() => control.verify({ range, repair: true }));
      assert.match(found?.problem ?? '', new RegExp(`'${store}' has been silent for 10 seconds`));
      mocked.mock.restore();
    });
  }
});

void describe('what changes ranges or stores ends although the home store is silent', () => {
  type Change = (control: Partitions, range: number) => Promise<unknown>;
  const changes: Readonly<Record<string, Change>> = {
    halve: (control, range) => control.halve(range),
    move: (control, range) => control.move(range, 'b'),
    merge: (control, range) => control.merge(range - 1, range),
    balance: (control) => control.balance(false),
    'a new store': (control) => control.addStore('c', { inMemory: true }),
    'a store that is taken back': (control) => control.addStore('b', {}),
    drain: (control) => control.drainStore('b'),
  };
  for (const [name, change] of Object.entries(changes)) {
    void it(`${name}, and says that nothing was changed`, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      t.mock.method(open.members.home, 'get', silent);
      t.mock.method(open.members.home, 'range', silent);
      const changed = asked(() => change(control, range));
      await assert.rejects(changed, isSilent(`'home'`));
      await assert.rejects(changed, /Nothing was changed: look at its disk .* repeat the command/);
    });
  }

  const removals: Readonly<Record<string, Change>> = {
    remove: (control) => control.removeStore('b'),
    'remove --lost': (control) => control.removeStore('b', { lost: true }),
  };
  for (const [name, removal] of Object.entries(removals)) {
    void it(`${name}, and says what to do`, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      t.mock.method(open.members.home, 'get', silent);
      const removed = asked(() => removal(control, range));
      await assert.rejects(removed, isSilent(`'home'`));
      await assert.rejects(removed, /'b' may be taken out .* repeat the command/);
    });
  }

  void it('balance, which reads loads', hangs, async (t) => {
    const { open, control, asked, silent } = await opened(t);
    const read = open.home.range.bind(open.home);
    t.mock.method(open.home, 'range', (...given: Parameters<typeof read>) =>
      startsWith(given[0].start, loadRows.start) ? silent() : read(...given),
    );
    await assert.rejects(
      asked(() => control.balance(true)),
      isSilent(`'home'`),
    );
  });

  void it('drain, whose commit may be applied later', hangs, async (t) => {
    const { open, control, asked, silent } = await opened(t);
    t.mock.method(open.members.home, 'commit', silent);
    const drained = asked(() => control.drainStore('b'));
    await assert.rejects(drained, isSilent(`'home'`));
    await assert.rejects(drained, /It may be done later all the same: repeat the command/);
  });

  void it('a new store, which the next attempt takes in', hangs, async (t) => {
    const { open, control, asked, late } = await opened(t);
    const commit = late();
    const store = await openMemoryStore({ clock: manualClock() });
    const add = () => addMember(open.members, addedAs('c', store));
    const added = asked((timers) => addMember(open.members, { ...addedAs('c', store), timers }));
    await assert.rejects(added, isSilent(`'home'`));
    await assert.rejects(added, /'c' is not open here\. It may become .* Repeat the command/);
    await commit.goOn();
    const active = { store: 'c', state: 'active' };
    const stores = async () =>
      (await control.list()).stores.map(({ store, state }) => ({ store, state }));
    assert.deepEqual((await stores())[1], active);
    await add();
    assert.deepEqual((await stores())[1], active);
  });
});

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
    ['home', 'range', 'its source is read'],
    ['home', 'fence', 'its source is told'],
    ['b', 'get', 'its target is asked'],
    ['b', 'fence', 'its target is told'],
    ['b', 'ingest', 'its target is written'],
  ] as const;
  for (const [store, method, when] of silences) {
    void it(`a move, when ${when}, and the list says which one it is`, hangs, async (t) => {
      const { open, control, range, asked, silent } = await opened(t);
      const begun = await open.operationRunner.operations.beginMove(range, 'b');
      assert.ok(begun.ok);
      const mocked = t.mock.method(open.members.named(store), method, silent);
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
    const mocked = t.mock.method(open.members.home, 'fence', silent);
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
