import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startsWith } from '../base/bytes.js';
import { manualClock } from '../base/clock.js';
import { InvariantError } from '../base/invariant.js';
import { openMemoryStore } from '../engines/memory/store.js';
import {
  isStoreKey,
  partitionPrefix,
  partitionPrefixLength,
  storeKey,
} from './partition-prefix.js';
import { withPartitionRule } from './partition-rule.js';
import { keyBytesMax, type RangeOptions } from './store.js';
import { appendString, decodeTuple } from './tuple.js';

const value = Buffer.from('value');

describe('partition prefix', () => {
  it('is found in every key that it begins', () => {
    for (const partition of ['', 'p', '\0\0', '\ud800', 'ключ']) {
      const prefix = partitionPrefix('tables', 'account', 300, partition);
      assert.equal(partitionPrefixLength(prefix), prefix.length);
      assert.equal(partitionPrefixLength(appendString(prefix, 'row\0key')), prefix.length);
    }
  });

  it('leaves room for the longest entity key in any script', () => {
    const account = 'a'.repeat(24);
    for (const unit of ['a', '\0', 'é', '\u0800', '\ud800', '\udfff', '\uffff']) {
      const longest = unit.repeat(512);
      const prefix = partitionPrefix('tables', account, Number.MAX_SAFE_INTEGER, longest);
      assert.ok(appendString(prefix, longest).length <= keyBytesMax);
    }
  });
});

describe('partition rule', () => {
  const first = partitionPrefix('tables', 'account', 1, 'first');
  const second = partitionPrefix('tables', 'account', 1, 'second');
  const empty = { checks: [], puts: [], deletes: [] };

  it('lets commits within one partition through', async () => {
    const store = withPartitionRule(await openMemoryStore({ clock: manualClock() }));
    const result = await store.commit({
      checks: [{ key: appendString(first, 'a'), version: 'absent' }],
      puts: [{ key: appendString(first, 'a'), value }],
      deletes: [appendString(first, 'b')],
      adds: [{ key: appendString(first, 'c'), delta: 1 }],
    });
    assert.equal(result.ok, true);
    assert.equal((await store.commit(empty)).ok, true);
  });

  it('breaks an invariant when a commit touches two partitions, even by a check', async () => {
    const store = withPartitionRule(await openMemoryStore({ clock: manualClock() }));
    const put = { key: appendString(first, 'a'), value };
    const other = appendString(second, 'a');
    const batches = [
      { ...empty, puts: [put, { key: other, value }] },
      { ...empty, puts: [put], deletes: [other] },
      { ...empty, puts: [put], checks: [{ key: other, version: 'absent' as const }] },
      { ...empty, puts: [put], adds: [{ key: other, delta: 1 }] },
    ];
    for (const batch of batches) await assert.rejects(store.commit(batch), InvariantError);
    assert.equal(await store.get(put.key), undefined);
  });

  it('lets a commit touch keys of the store beside its partition', async () => {
    const store = withPartitionRule(await openMemoryStore({ clock: manualClock() }));
    const note = storeKey('dirty', 1);
    const parts = {
      checks: [{ key: storeKey('guard', 1), version: 'absent' as const }],
      puts: [{ key: note, value }],
      adds: [{ key: appendString(first, 'c'), delta: 1 }],
    };
    assert.equal((await store.commit({ ...empty, ...parts })).ok, true);
    assert.ok(isStoreKey(note) && !isStoreKey(first));
  });

  it('ends a page with a partition, and passes over those of which nothing is taken', async () => {
    const store = withPartitionRule(await openMemoryStore({ clock: manualClock() }));
    const third = partitionPrefix('tables', 'account', 1, 'third');
    for (const prefix of [first, second, third]) {
      const puts = ['a', 'b'].map((name) => ({ key: appendString(prefix, name), value }));
      await store.commit({ ...empty, puts });
    }
    const page = async (filter?: RangeOptions['filter']) => {
      const options = { limit: 9, bytesMax: 999, ...(filter !== undefined && { filter }) };
      const { entries, more } = await store.range({ start: first }, options);
      return { keys: entries.map(({ key }) => decodeTuple(key).slice(3)), more };
    };
    const rows = (partition: string) => ['a', 'b'].map((row) => [partition, row]);
    assert.deepEqual(await page(), { keys: rows('first'), more: true });
    const skipFirst: RangeOptions['filter'] = ({ key }) =>
      startsWith(key, first) ? 'skip' : 'take';
    assert.deepEqual(await page(skipFirst), { keys: rows('second'), more: true });
    assert.deepEqual(await page(() => 'skip'), { keys: [], more: false });
    const found = await store.getMany(
      [third, first, second].map((each) => appendString(each, 'b')),
    );
    assert.deepEqual(
      found.map((entry) => entry && decodeTuple(entry.key)[3]),
      ['third', 'first', 'second'],
    );
  });

  it('breaks an invariant when a commit writes a key twice', async () => {
    const store = withPartitionRule(await openMemoryStore({ clock: manualClock() }));
    const put = { key: appendString(first, 'a'), value };
    await assert.rejects(store.commit({ ...empty, puts: [put, put] }), InvariantError);
    const add = { key: put.key, delta: 1 };
    const batches = [
      { ...empty, puts: [put], deletes: [put.key] },
      { ...empty, puts: [put], adds: [add] },
      { ...empty, deletes: [put.key], adds: [add] },
      { ...empty, adds: [add, add] },
    ];
    for (const batch of batches) await assert.rejects(store.commit(batch), InvariantError);
  });
});
