import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { GuardError } from './errors.js';
import { partitionPrefix, storeKey } from './partition-prefix.js';
import { sampleByReading } from './sample.js';
import { appendNumber, prefixRange } from './tuple.js';

const prefix = partitionPrefix('tables', 'account', 1, 'p');
const range = prefixRange(prefix);
const count = 20_000;

async function filled() {
  const store = await openMemoryStore({ clock: manualClock() });
  const keys = Array.from({ length: count }, (_, index) => appendNumber(prefix, index));
  const puts = keys.map((key, index) => ({ key, value: Buffer.alloc(index % 300) }));
  await store.commit({ checks: [], puts, deletes: [] });
  return { store, keys };
}

/** A clock by which every slice has ended when it is looked at. */
function hurriedClock() {
  let now = 0;
  return { monotonicMs: () => (now += 100) };
}

describe('a sample by reading', () => {
  it('reads a long range in slices, and counts every entry once', async () => {
    const { store, keys } = await filled();
    let reads = 0;
    const sample = await sampleByReading(
      {
        range: (part, options) => {
          reads += 1;
          return store.range(part, options);
        },
      },
      range,
      { cuts: 3, clock: hurriedClock() },
    );
    assert.ok(reads > 100, `${reads} reads`);
    assert.equal(sample.keys, count);
    const indexes = sample.cuts.map((cut) =>
      keys.findIndex((key) => Buffer.compare(key, cut) === 0),
    );
    for (const [part, index] of indexes.entries()) {
      const even = (count * (part + 1)) / 4;
      assert.ok(Math.abs(index - even) < count / 50, `cut ${part} at ${index}`);
    }
  });

  it('is refused when its guard falls in the middle', async () => {
    const { store } = await filled();
    const key = storeKey('guard');
    const write = () =>
      store.commit({ checks: [], puts: [{ key, value: Buffer.of(1) }], deletes: [] });
    const written = await write();
    assert.ok(written.ok);
    let reads = 0;
    const sample = sampleByReading(
      {
        range: async (part, options) => {
          reads += 1;
          if (reads === 3) await write();
          return store.range(part, options);
        },
      },
      range,
      { cuts: 3, clock: hurriedClock(), guard: { key, version: written.version } },
    );
    await assert.rejects(sample, GuardError);
    assert.equal(reads, 3);
  });
});
