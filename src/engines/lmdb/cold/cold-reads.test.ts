import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { temporaryLocation } from '../../../../test/support/engine-lmdb.js';
import { manualClock, systemClock } from '../../../base/clock.js';
import { openLmdbStore } from '../store.js';
import { ColdReads, warmAfterMs, type FetcherEvents } from './cold-reads.js';
import type { Wanted } from './page-seeker.js';

const keyOf = (index: number) => Buffer.from(`key ${String(index).padStart(6, '0')}`);

function setUp({ isCold = false } = {}) {
  const clock = manualClock();
  const state = { faults: 7, isClosed: false, failures: 0 };
  const batches: (readonly Wanted[])[] = [];
  let calls: FetcherEvents | undefined;
  const cold = new ColdReads({
    clock,
    faults: () => state.faults,
    startFetcher: (events) => {
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
  /** Whether a read goes on by now. */
  const isOver = async (read: Promise<void>): Promise<boolean> => {
    let over = false;
    void read.then(() => (over = true));
    await setImmediate();
    return over;
  };
  return { clock, state, batches, cold, events, isOver };
}

describe('reads of pages that may not be in the cache', () => {
  it('ask nobody while the process waits for no page', () => {
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

  it('ask at first where the file was not read before', () => {
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

describe('a store that waits for each page', () => {
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
    const late = assert.rejects(put('four'), /closed/);
    await store.close();
    await late;
  });
});
