import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe } from 'node:test';
import { temporaryLocation } from '../../../../test/support/engine-lmdb.js';
import { manualTimers } from '../../../../test/support/manual-timers.js';
import { manualClock, systemClock } from '../../../base/clock.js';
import { it } from '../../../base/conformance/limited-test.js';
import { StoreClosedError } from '../../../kv/errors.js';
import { openLmdbStore } from '../store.js';
import { ColdReads, startFetchThread, warmAfterMs, type FetcherEvents } from './cold-reads.js';
import type { NeededEntries } from './page-seeker.js';
import { recentMs } from './recent-keys.js';

const keyOf = (index: number) => Buffer.from(`key ${String(index).padStart(6, '0')}`);

function setUp({ isCold = false } = {}) {
  const clock = manualClock();
  const timers = manualTimers();
  const state = { faults: 7, isClosed: false, failures: 0, isStuck: false, startError: '' };
  const batches: (readonly NeededEntries[])[] = [];
  let calls: FetcherEvents | undefined;
  const cold = new ColdReads({
    clock,
    timers,
    stuckAfterMs: 1_000,
    onStuck: () => (state.isStuck = true),
    faults: () => state.faults,
    startFetcher: (events) => {
      if (state.startError !== '') throw new Error(state.startError);
      calls = events;
      return {
        fetch: (all) => void batches.push(all),
        close: () => (state.isClosed = true),
      };
    },
    isCold,
    onFailed: () => (state.failures += 1),
  });
  const events = (): FetcherEvents => {
    assert.ok(calls !== undefined, 'the thread was started');
    return calls;
  };
  /** Whether a read has been let through by now. */
  const isOver = async (read: Promise<void>): Promise<boolean> => {
    let over = false;
    void read.then(() => (over = true));
    await setImmediate();
    return over;
  };
  return { clock, timers, state, batches, cold, events, isOver };
}

describe('reads of pages that may not be in the cache', () => {
  it('ask nobody while the process waits for no page', async () => {
    const { clock, cold } = setUp();
    for (let look = 0; look < 5; look += 1) {
      assert.equal(cold.areCold, false);
      clock.advanceMicros(1_000 * 100);
    }
  });

  it('ask from the first page on that the process has waited for, until none was missing', async () => {
    const { clock, state, cold, events } = setUp();
    assert.equal(cold.areCold, false);
    state.faults += 1;
    clock.advanceMicros(1_000 * 100);
    assert.equal(cold.areCold, true);
    clock.advanceMicros(1_000 * (warmAfterMs - 1));
    assert.equal(cold.areCold, true);
    const read = cold.keys([keyOf(1)]);
    events().onReply({ wasCold: true });
    await read;
    clock.advanceMicros(1_000 * (warmAfterMs - 1));
    assert.equal(cold.areCold, true, 'a page was missing');
    const next = cold.keys([keyOf(1)]);
    events().onReply({ wasCold: false });
    await next;
    clock.advanceMicros(1_000 * 1);
    assert.equal(cold.areCold, false);
  });

  it('ask at first where the file was not read before', async () => {
    const { clock, cold } = setUp({ isCold: true });
    assert.equal(cold.areCold, true);
    clock.advanceMicros(1_000 * warmAfterMs);
    assert.equal(cold.areCold, false);
  });

  it('wait for the thread, and what comes meanwhile goes there together', async () => {
    const { batches, cold, events, isOver } = setUp({ isCold: true });
    const first = cold.keys([keyOf(1)]);
    const others = Array.from({ length: 100 }, (_, index) => cold.keys([keyOf(2 + index)]));
    assert.deepEqual(
      batches.map(({ length }) => length),
      [1],
    );
    assert.equal(await isOver(first), false);
    events().onReply({ wasCold: true });
    await first;
    assert.deepEqual(
      batches.map(({ length }) => length),
      [1, 64],
    );
    assert.equal(await isOver(Promise.all(others).then(() => undefined)), false);
    events().onReply({ wasCold: true });
    events().onReply({ wasCold: true });
    await Promise.all(others);
    assert.deepEqual(
      batches.map(({ length }) => length),
      [1, 64, 36],
    );
  });

  it('ask once for a key that is read again a moment later, and writes ask each time', async () => {
    const { clock, batches, cold, events, isOver } = setUp({ isCold: true });
    const answer = () => events().onReply({ wasCold: true });
    const askedFor = () => batches.map((all) => all.map(({ start }) => start));
    const read = cold.keys([keyOf(1), keyOf(2)]);
    assert.equal(await isOver(cold.keys([])), true);
    answer();
    await read;
    clock.advanceMicros(1_000 * (recentMs - 1));
    await cold.keys([keyOf(2), keyOf(1)]);
    assert.deepEqual(askedFor(), [[keyOf(1), keyOf(2)]]);
    const other = cold.keys([keyOf(2), keyOf(3)]);
    const write = cold.inOrder([keyOf(1)]);
    assert.equal(await isOver(write), false, 'behind what came before');
    answer();
    answer();
    await Promise.all([other, write]);
    assert.deepEqual(askedFor().slice(1), [[keyOf(3)], [keyOf(1)]]);
    clock.advanceMicros(1_000 * 2 * recentMs);
    const later = cold.keys([keyOf(1)]);
    answer();
    await later;
    assert.deepEqual(askedFor().slice(3), [[keyOf(1)]]);
  });

  it('remember no more keys than some thousand', async () => {
    const { batches, cold, events } = setUp({ isCold: true });
    const count = 20_000;
    const read = cold.keys(Array.from({ length: count }, (_, index) => keyOf(index)));
    events().onReply({ wasCold: true });
    await read;
    const again = cold.keys([keyOf(0), keyOf(count - 1)]);
    events().onReply({ wasCold: true });
    await again;
    assert.deepEqual(
      batches.at(-1)?.map(({ start }) => start),
      [keyOf(0)],
    );
  });

  it('go on without help when the file cannot be read or the thread has ended', async () => {
    const { state, cold, events } = setUp({ isCold: true });
    const first = cold.keys([keyOf(1)]);
    events().onReply({ wasCold: false, failure: 'EIO' });
    await first;
    const [second, third] = [cold.keys([keyOf(1)]), cold.keys([keyOf(2)])];
    events().onFailed(new Error('out of memory'));
    await Promise.all([second, third]);
    assert.equal(cold.areCold, false);
    assert.equal(state.failures, 1);
    await cold.keys([keyOf(1)]);
  });

  it('go on without help when the system has no more threads', async () => {
    const { state, cold } = setUp({ isCold: true });
    state.startError = 'ERR_WORKER_INIT_FAILED';
    await Promise.all([cold.keys([keyOf(1)]), cold.keys([keyOf(2)])]);
    assert.equal(state.failures, 1);
    assert.equal(cold.areCold, false);
  });

  it('go on without help when the thread ends and gives no error', async () => {
    const { cold, state, events, isOver } = setUp({ isCold: true });
    const [first, second] = [cold.keys([keyOf(1)]), cold.keys([keyOf(2)])];
    assert.equal(await isOver(first), false);
    const ended = new Promise<unknown>((resolve) => {
      const thread = startFetchThread(
        { directory: '/nowhere' },
        {
          onReply: () => assert.fail('there is nothing to read'),
          onFailed: resolve,
        },
      );
      // The thread ends before it has read any page.
      thread.close();
    });
    const waiting = setInterval(() => undefined, 1_000);
    events().onFailed(await ended);
    clearInterval(waiting);
    await Promise.all([first, second]);
    assert.equal(state.failures, 1);
  });

  it('end with the store when the disk gives nothing for long', async () => {
    const { cold, state, timers, events, isOver } = setUp({ isCold: true });
    const first = cold.keys([keyOf(1)]);
    events().onReply({ wasCold: true });
    assert.ok(await isOver(first));
    assert.equal(timers.waiting, 0, 'an answer ends the limit');
    const [second, third] = [cold.keys([keyOf(2)]), cold.keys([keyOf(3)])];
    for (let step = 0; step < 3; step += 1) timers.fire();
    assert.equal(await isOver(second), false);
    timers.fire();
    await Promise.all([second, third]);
    assert.ok(state.isStuck);
    assert.ok(state.isClosed, 'the thread is told to end');
  });

  it('are few in a message when each needs many pages', async () => {
    const { cold, batches, events } = setUp({ isCold: true });
    const page = { limit: 1_000, bytesMax: Infinity };
    const read = (): Promise<void> => cold.range({ start: keyOf(1) }, page);
    const reads = [read(), ...Array.from({ length: 20 }, read)];
    while (batches.flat().length < reads.length) events().onReply({ wasCold: true });
    events().onReply({ wasCold: true });
    await Promise.all(reads);
    assert.deepEqual(
      batches.map(({ length }) => length),
      [1, 8, 8, 4],
    );
  });

  it('go on when the store is closed', async () => {
    const { state, cold } = setUp({ isCold: true });
    const reads = [
      cold.keys([keyOf(1)]),
      cold.range({ start: keyOf(1) }, { limit: 1, bytesMax: 1 }),
    ];
    cold.close();
    await Promise.all(reads);
    assert.equal(state.isClosed, true);
  });
});

/** A count of page faults that has risen at each look. */
function always(): () => number {
  let faults = 0;
  return () => (faults += 1);
}

describe('a store that waits for each page', () => {
  it('refuses reads and writes, and hangs for none, when the disk gives nothing', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const failures: string[] = [];
    const timers = manualTimers();
    const store = await openLmdbStore({
      directory,
      clock: systemClock,
      durability: 'relaxed',
      timers,
      faults: always(),
      events: { failed: ({ message }) => failures.push(message) },
    });
    const put = store.commit({
      checks: [],
      puts: [{ key: keyOf(1), value: keyOf(1) }],
      deletes: [],
    });
    const calls = [
      put,
      store.get(keyOf(1)),
      store.range({ start: keyOf(1) }, { limit: 1, bytesMax: 1 }),
    ];
    const settled = Promise.allSettled(calls);
    // In one turn, so that the thread cannot answer in between.
    for (let step = 0; step < 4; step += 1) timers.fire();
    for (const call of await settled) {
      assert.equal(call.status, 'rejected');
      assert.match(String(call.status === 'rejected' && call.reason), /has not given/);
    }
    assert.equal(failures.length, 1);
    await store.close();
  });

  it('finds what others do, while it is written to', async (t) => {
    let faults = 0;
    const { directory, remove } = await temporaryLocation();
    const store = await openLmdbStore({
      directory,
      clock: systemClock,
      durability: 'relaxed',
      faults: () => (faults += 1),
    });
    t.after(remove);
    const write = async (round: number): Promise<void> => {
      const puts = Array.from({ length: 300 }, (_, index) => ({
        key: keyOf(index),
        value: Buffer.alloc(index % 50 === 0 ? 20_000 : 400, round),
      }));
      await store.commit({ checks: [], puts, deletes: [] });
    };
    await write(0);
    const writing = write(1);
    const page = { limit: 1_000, bytesMax: Infinity };
    const [one, many, range, backwards] = await Promise.all([
      store.get(keyOf(50)),
      store.getMany([keyOf(7), keyOf(999)]),
      store.range({ start: keyOf(100), end: keyOf(110) }, page),
      store.range({ start: keyOf(290) }, { ...page, reverse: true }),
    ]);
    await writing;
    assert.equal(one?.value.length, 20_000);
    assert.deepEqual(
      many.map((entry) => entry?.value.length),
      [400, undefined],
    );
    assert.deepEqual(
      range.entries.map(({ key }) => String(key)),
      Array.from({ length: 10 }, (_, index) => String(keyOf(100 + index))),
    );
    assert.equal(String(backwards.entries[0]?.key), String(keyOf(299)));
    const late = assert.rejects(store.get(keyOf(1)), /closed/);
    await store.close();
    await late;
  });

  it('carries out every write that has begun before it closes, and gives up reads', async (t) => {
    const { directory, remove } = await temporaryLocation();
    t.after(remove);
    const clock = systemClock;
    const open = () => openLmdbStore({ directory, clock, durability: 'relaxed', faults: always() });
    const store = await open();
    const keys = Array.from({ length: 300 }, (_, index) => keyOf(index));
    const writes = keys.map((key) =>
      store.commit({ checks: [], puts: [{ key, value: key }], deletes: [] }),
    );
    const ingested = store.ingest({
      entries: [{ key: keyOf(300), value: keyOf(300), version: 1 }],
      deletes: [],
      floor: 0,
    });
    const read = assert.rejects(store.get(keyOf(1)), StoreClosedError);
    await store.close();
    assert.ok((await Promise.all(writes)).every(({ ok }) => ok));
    await Promise.all([ingested, read]);
    const again = await open();
    const found = await again.getMany([...keys, keyOf(300)]);
    await again.close();
    assert.equal(found.filter((entry) => entry !== undefined).length, 301);
  });

  it('brings the pages of a write into the cache first, and keeps the order of writes', async (t) => {
    let looks = 0;
    const { directory, remove } = await temporaryLocation();
    const store = await openLmdbStore({
      directory,
      clock: systemClock,
      durability: 'relaxed',
      faults: () => (looks += 1),
    });
    t.after(remove);
    const put = (value: string) =>
      store.commit({
        checks: [],
        puts: [{ key: keyOf(1), value: Buffer.from(value) }],
        deletes: [],
      });
    const before = looks;
    const results = await Promise.all(['one', 'two', 'three'].map(put));
    assert.ok(looks > before, 'the thread has answered');
    const versions = results.map((result) => (result.ok ? result.version : 0));
    assert.deepEqual(
      versions,
      versions.toSorted((left, right) => left - right),
    );
    assert.equal(String((await store.get(keyOf(1)))?.value), 'three');
    const ingested = looks;
    await store.ingest({ entries: [], deletes: [keyOf(1)], floor: 0 });
    assert.ok(looks > ingested, 'the thread has answered');
    assert.equal(await store.get(keyOf(1)), undefined);
    await store.close();
  });
});
