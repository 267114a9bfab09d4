import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it, type TestContext } from 'node:test';
import { openPartitions } from '../../src/app/open-partitions.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { deferred } from '../../src/base/async/deferred.js';
import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import { startsWith } from '../../src/base/bytes.js';
import { manualClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import type { StartedJob } from '../../src/http/control/partitions.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { loadRows } from '../../src/partition/keys.js';
import { containerNamesPrefix } from '../../src/services/containers/keys.js';
import { hurried } from '../support/manual-timers.js';

// What waits for a silent store without a limit never ends.
const hangs = { timeout: 20_000 };

const keys = ['p', 'q'].map((name) =>
  appendString(partitionPrefix('table', 'account', 2, name), 'row'),
);

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
  const asked = <Result>(work: () => Promise<Result>): Promise<Result> =>
    hurried(t.signal, (timers) => {
      state.timers = timers;
      return work();
    });
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
  return { open, control, range, asked, ended, silent };
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
