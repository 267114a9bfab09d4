import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { costly } from '../../../test/support/run-length.js';
import { systemTimers } from '../../base/async/timers.js';
import type { Bytes } from '../../base/bytes.js';
import { manualClock } from '../../base/clock.js';
import { systemRandomness } from '../../base/randomness.js';
import { partitionPrefix } from '../../kv/partition-prefix.js';
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
async function setUp(t: TestContext) {
  const { directory, remove } = await temporaryLocation();
  await mkdir(directory);
  const base = await openMemoryStore({ clock });
  const entries = Array.from({ length: count }, (_, place) => ({
    key: keyOf(place),
    value: Buffer.of(1),
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
  return { store, looks, delete: deletePlaces, put };
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
