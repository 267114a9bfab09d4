import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '../base/clock.js';
import { openMemoryStore } from '../engines/memory/store.js';
import { comparedParts, stillDiffering, type ComparedStore } from './differences.js';
import { partitionPrefix } from './partition-prefix.js';
import type { SizedKey } from './sized-keys.js';
import type { Candidate, KeyRange, RangeOptions } from './store.js';
import { appendString } from './tuple.js';

const keyOf = (partition: string) =>
  appendString(partitionPrefix('table', 'account', 1, partition), 'row');
const partitions = ['a', 'b', 'c', 'd', 'e', 'f'];

async function storeWith(values: Readonly<Record<string, string>>) {
  const store = await openMemoryStore({ clock: manualClock() });
  const entries = Object.entries(values).map(([partition, value]) => {
    return { key: keyOf(partition), value: Buffer.from(value), version: 5 };
  });
  await store.ingest({ entries, deletes: [], floor: 0 });
  return store;
}

/** Ends each page behind one entry, as a store may where a partition ends. */
function inSmallPages(store: ComparedStore): ComparedStore {
  return {
    ...store,
    async range(range: KeyRange, options: RangeOptions) {
      let used = 0;
      const filter = (found: Candidate) => {
        if (used === 1) return 'stop';
        used += 1;
        return options.filter?.(found) ?? 'take';
      };
      return store.range(range, { ...options, filter });
    },
  };
}

async function bound(values: Readonly<Record<string, string>>): Promise<ComparedStore> {
  const store = await storeWith(values);
  return {
    range: (range, options) => store.range(range, options),
    getMany: (keys) => store.getMany(keys),
  };
}

describe('a comparison of two stores', () => {
  it('reads keys with large values again a few at a time', async () => {
    const large = 'x'.repeat(400_000);
    const source = await bound(Object.fromEntries(partitions.map((name) => [name, large])));
    const target = await bound({ a: large, b: 'small', e: 'small' });
    const differing: SizedKey[] = [];
    const range = { start: Buffer.alloc(0) };
    // The target has the larger value where both are exchanged.
    for (const [one, other] of [
      [source, target],
      [target, source],
    ] as const) {
      differing.length = 0;
      const parts = comparedParts(one, other, { range, page: { limit: 100, bytesMax: 1 << 20 } });
      for await (const part of parts) differing.push(...part.differing);
      assert.deepEqual(
        differing.map(({ key }) => String(key)),
        ['b', 'c', 'd', 'e', 'f'].map((name) => String(keyOf(name))),
      );
      const asked: number[] = [];
      const counting: ComparedStore = {
        ...one,
        getMany(keys) {
          asked.push(keys.length);
          return one.getMany(keys);
        },
      };
      assert.deepEqual(await stillDiffering(counting, other, differing), differing);
      assert.deepEqual(asked, [2, 2, 1]);
    }
  });

  it('finds every difference, also where the target ends its pages early', async () => {
    const source = await bound({ a: '1', b: '1', c: '1', e: '1', f: '1' });
    const target = await bound({ a: '1', b: '2', c: '1', d: '1', f: '1' });
    for (const each of [target, inSmallPages(target)]) {
      for (const limit of [1, 2, 100]) {
        const [puts, deletes]: [Uint8Array[], Uint8Array[]] = [[], []];
        const range = { start: Buffer.alloc(0) };
        const page = { limit, bytesMax: 1 << 20 };
        for await (const part of comparedParts(source, each, { range, page })) {
          puts.push(...part.puts.map(({ key }) => key));
          deletes.push(...part.deletes);
        }
        assert.deepEqual(puts.map(String), [keyOf('b'), keyOf('e')].map(String));
        assert.deepEqual(deletes.map(String), [keyOf('d')].map(String));
        const all = partitions.map((name) => ({ key: keyOf(name), valueBytes: 1 }));
        const still = await stillDiffering(source, each, all);
        const found = still.map(({ key, valueBytes }) => `${String(key)} ${valueBytes}`);
        assert.deepEqual(
          found,
          ['b', 'd', 'e'].map((name) => `${String(keyOf(name))} 1`),
        );
      }
    }
  });
});
