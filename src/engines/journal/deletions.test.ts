import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { costly } from '../../../test/support/run-length.js';
import { systemTimers } from '../../base/async/timers.js';
import type { Bytes } from '../../base/bytes.js';
import { manualClock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { nextTurn } from '../../base/async/turns.js';
import { partitionPrefix, storeKey } from '../../kv/partition-prefix.js';
import { prefixRange } from '../../kv/tuple.js';
import { temporaryLocation } from '../../../test/support/engine-lmdb.js';
import { openMemoryStore } from '../memory/store.js';
import { DiskFiles } from './disk-files.js';
import { openJournaledStore } from './store.js';

const clock = manualClock();
const prefix = partitionPrefix('queues', 'account', 1, '');
const whole = prefixRange(prefix);
const count = 400;

function keyOf(place: number): Bytes {
  return Buffer.concat([prefix, Buffer.of(place >> 8, place & 255)]);
}

const placeOf = (key: Bytes): number => Buffer.from(key).readUInt16BE(prefix.length);

/** A store whose base holds every place, and counts how many of its entries ranges look at. */
async function setUp(t: TestContext, { rows = count, valueBytes = 1 } = {}) {
  const { directory, remove } = await temporaryLocation();
  await mkdir(directory);
  const base = await openMemoryStore({ clock });
  const entries = Array.from({ length: rows }, (_, place) => ({
    key: keyOf(place),
    value: Buffer.alloc(valueBytes, 1),
    version: 1,
  }));
  await base.ingest({ entries, deletes: [], floor: 1 });
  const looks = { count: 0 };
  const range = base.range.bind(base);
  base.range = (part, options) =>
    range(part, {
      ...options,
      filter: (candidate) => {
        looks.count += 1;
        return options.filter?.(candidate) ?? 'take';
      },
    });
  const store = await openJournaledStore({
    base,
    files: new DiskFiles({ directory, sync: false }),
    clock,
    timers: systemTimers,
    randomness: systemRandomness,
  });
  t.after(async () => {
    await store.close();
    await remove();
  });
  const deletePlaces = (places: readonly number[]) =>
    store.commit({ checks: [], puts: [], deletes: places.map(keyOf) });
  const put = (places: readonly number[]) =>
    store.commit({
      checks: [],
      puts: places.map((place) => ({ key: keyOf(place), value: Buffer.of(2) })),
      deletes: [],
    });
  return { store, base, looks, delete: deletePlaces, put };
}

const upTo = (end: number) => Array.from({ length: end }, (_, place) => place);

describe('ranges over what was deleted at their beginning', () => {
  it('do not read again what the base still holds of it', async (t) => {
    const { store, looks, ...does } = await setUp(t);
    await does.delete(upTo(300));
    const first = async () => {
      looks.count = 0;
      const { entries } = await store.range(whole, { limit: 1, bytesMax: Infinity });
      return { place: entries.map(({ key }) => placeOf(key)), looks: looks.count };
    };
    assert.deepEqual((await first()).place, [300]);
    const again = await first();
    assert.deepEqual(again.place, [300]);
    assert.ok(again.looks < 5, `${again.looks} entries of the base were looked at`);
    await does.put([17]);
    assert.deepEqual((await first()).place, [17]);
  });

  it('show what is there, whatever was deleted and put', costly(), async (t) => {
    const { store, ...does } = await setUp(t);
    const alive = new Set(upTo(count));
    const place = fc.nat(count - 1);
    const step = fc.oneof(
      fc.record({ kind: fc.constant('delete' as const), at: place, length: fc.nat(200) }),
      fc.record({ kind: fc.constant('put' as const), at: place, length: fc.nat(5) }),
      fc.record({ kind: fc.constant('look' as const), at: place, length: fc.nat(100) }),
    );
    const steps = fc.array(step, { minLength: 1, maxLength: 30, size: 'max' });
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        for (const { kind, at, length } of sequence) {
          const places = upTo(Math.min(length, count - at)).map((offset) => at + offset);
          if (kind === 'delete') await does.delete(places);
          if (kind === 'put') await does.put(places);
          for (const each of places) {
            if (kind === 'delete') alive.delete(each);
            if (kind === 'put') alive.add(each);
          }
          const limit = length + 1;
          const start = kind === 'look' ? keyOf(at) : whole.start;
          const page = await store.range({ ...whole, start }, { limit, bytesMax: Infinity });
          const from = kind === 'look' ? at : 0;
          const expected = [...alive].filter((each) => each >= from);
          expected.sort((left, right) => left - right);
          assert.deepEqual(
            page.entries.map(({ key }) => placeOf(key)),
            expected.slice(0, limit),
          );
        }
      }),
      { numRuns: 50 },
    );
  });
});

/** Of each turn of the event loop, how many entries the base is asked for during a read. */
async function looksOfTurns(looks: { count: number }, read: () => Promise<unknown>) {
  const ofTurns: number[] = [];
  looks.count = 0;
  const note = () => {
    ofTurns.push(looks.count);
    looks.count = 0;
    turn = setImmediate(note);
  };
  let turn = setImmediate(note);
  await read();
  clearImmediate(turn);
  return [...ofTurns, looks.count];
}

const rows = 6_000;
const guard = { key: storeKey('guard'), version: 7 };

describe('ranges over what was deleted in their middle', () => {
  for (const [way, options] of [
    ['forward', {}],
    ['in reverse', { reverse: true }],
    ['guarded', { guard }],
    ['guarded, in reverse', { guard, reverse: true }],
  ] as const) {
    it(`let others have turns: ${way}`, async (t) => {
      const { store, base, looks, ...does } = await setUp(t, { rows });
      const entries = [{ ...guard, value: Buffer.alloc(0) }];
      await base.ingest({ entries, deletes: [], floor: 7 });
      await does.delete(Array.from({ length: rows - 2 }, (_, index) => index + 1));
      const found: number[] = [];
      const ofTurns = await looksOfTurns(looks, async () => {
        const limits = { limit: 9, bytesMax: Infinity };
        const page = await store.range(whole, { ...options, ...limits });
        assert.equal(page.more, false);
        for (const { key } of page.entries) found.push(placeOf(key));
      });
      assert.deepEqual(
        found.toSorted((left, right) => left - right),
        [0, rows - 1],
      );
      assert.equal(found[0], 'reverse' in options ? rows - 1 : 0);
      assert.ok(Math.max(...ofTurns) <= 2_002, `${ofTurns.join()} entries were looked at`);
    });
  }

  it('let others have turns after a few large ones', async (t) => {
    const { store, looks, ...does } = await setUp(t, { rows: 20, valueBytes: 1 << 20 });
    await does.delete(upTo(20));
    const ofTurns = await looksOfTurns(looks, () =>
      store.range(whole, { limit: 9, bytesMax: Infinity }),
    );
    assert.ok(Math.max(...ofTurns) <= 6, `${ofTurns.join()} entries were looked at`);
  });

  it('show one moment, whatever is written and applied meanwhile', async (t) => {
    const { store, base, ...does } = await setUp(t, { rows });
    await does.put([5_500]);
    await does.delete(Array.from({ length: 5_000 }, (_, index) => index + 1));
    const portions = { count: 0 };
    const ingest = base.ingest.bind(base);
    base.ingest = async (ingestion) => {
      portions.count += 1;
      await nextTurn();
      await ingest(ingestion);
    };
    const first = store.takeSnapshot();
    while (portions.count < 2) await nextTurn();
    const reading = store.range(whole, { limit: rows, bytesMax: Infinity });
    await does.put([2_500, 4_500, 5_600]);
    await does.delete([0, 5_700]);
    const second = store.takeSnapshot();
    const { entries } = await reading;
    const places = entries.map(({ key }) => placeOf(key));
    const expected = upTo(rows).filter((place) => place === 0 || place > 5_000);
    assert.deepEqual(places, expected);
    const changed = entries.filter(({ value }) => value[0] === 2);
    assert.deepEqual(
      changed.map(({ key }) => placeOf(key)),
      [5_500],
    );
    await Promise.all([first, second]);
  });

  it('show one moment when the data are set back meanwhile', async (t) => {
    const { store, base, ...does } = await setUp(t, { rows });
    const snapshot = await store.takeSnapshot();
    // The base has this deletion, so that it differs from the snapshot where the table has nothing.
    await does.delete([5_900]);
    await store.takeSnapshot();
    await does.delete(Array.from({ length: 5_000 }, (_, index) => index + 1));
    const portions = { count: 0 };
    const ingest = base.ingest.bind(base);
    base.ingest = async (ingestion) => {
      portions.count += 1;
      // The reads begin while the first portion is on its way, and last longer than the pass.
      if (portions.count === 1) await nextTurn();
      await ingest(ingestion);
    };
    const restored = store.restoreSnapshot(snapshot);
    while (portions.count < 1) await nextTurn();
    const reads = Array.from({ length: 60 }, async () => {
      const { entries } = await store.range(whole, { limit: rows, bytesMax: Infinity });
      return entries.length;
    });
    assert.deepEqual(new Set(await Promise.all(reads)), new Set([rows - 5_001]));
    await restored;
    const after = await store.range(whole, { limit: rows, bytesMax: Infinity });
    assert.equal(after.entries.length, rows);
  });
});
