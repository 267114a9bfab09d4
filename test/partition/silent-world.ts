import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { openPartitions } from '../../src/app/open-partitions.js';
import { Partitions } from '../../src/app/partition-control.js';
import { settingsOf } from '../../src/app/settings.js';
import { deferred } from '../../src/base/async/deferred.js';
import { systemTimers, type Timers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/http/exchange/logger.js';
import type { StartedJob } from '../../src/http/control/partitions.js';
import { StoreUnavailableError } from '../../src/kv/errors.js';
import type { GuardedBatch } from '../../src/kv/guards.js';
import type { MemberStore } from '../../src/kv/member-store.js';
import type { CommitResult } from '../../src/kv/store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { hurried } from '../support/manual-timers.js';

// What waits for a silent store without a limit never ends.
export const hangs = { timeout: 20_000 };

const keys = ['p', 'q'].map((name) =>
  appendString(partitionPrefix('table', 'account', 2, name), 'row'),
);

export const splitAt = partitionPrefix('table', 'account', 2, 'q');

/** The home store, which has the entities of a table, and one that has a copy of one of them. */
export async function opened(t: TestContext) {
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

/** Makes the calls of a store silent from one on, counted from 1. */
export function silentFrom(
  t: TestContext,
  given: {
    readonly store: MemberStore;
    readonly method: 'get' | 'range' | 'fence' | 'ingest';
    readonly from: number;
    readonly silent: () => Promise<never>;
  },
) {
  const { store, method, from, silent } = given;
  const call: unknown = Reflect.get(store, method);
  assert.ok(typeof call === 'function');
  let calls = 0;
  return t.mock.method(store, method, (...args: readonly unknown[]): unknown => {
    calls += 1;
    return calls >= from ? silent() : Reflect.apply(call, store, args);
  });
}

export function isSilent(name: string): (error: Error) => boolean {
  return (error) => {
    assert.ok(error instanceof StoreUnavailableError, String(error));
    assert.match(error.message, new RegExp(`${name} has been silent for (2|10) seconds`));
    return true;
  };
}
