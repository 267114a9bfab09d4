import assert from 'node:assert/strict';
import { it } from './limited-test.js';
import { partitionPrefix } from '../partition-prefix.js';
import { keyBytesMax } from '../store.js';
import { appendString, stringAt } from '../tuple.js';
import { batch, bytes, commit, keysOf, put, setUp, valueOf, wholeRange } from './batches.js';
import type { ConformanceSuite } from './suite.js';

/** Single keys: what was put is what is read. */
export function readsConformance(suite: ConformanceSuite): void {
  it('returns what was committed, and undefined for what was not', async (t) => {
    const { store } = await setUp(suite, t);
    const version = await commit(store, { puts: [put('a', 'one')] });
    const entry = await store.get(bytes('a'));
    assert.ok(entry !== undefined);
    assert.equal(entry.version, version);
    assert.deepEqual(Buffer.from(entry.key), bytes('a'));
    assert.deepEqual(Buffer.from(entry.value), bytes('one'));
    assert.equal(await store.get(bytes('b')), undefined);
    assert.equal(await store.get(bytes('a\0')), undefined);
  });

  it('returns many keys in the order asked, missing and repeated ones too', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('a', '1'), put('b', '2')] });
    const keys = ['b', 'x', 'a', 'b'].map(bytes);
    const found = await store.getMany(keys);
    const values = found.map((entry) => entry && Buffer.from(entry.value).toString());
    assert.deepEqual(values, ['2', undefined, '1', '2']);
    assert.deepEqual(await store.getMany([]), []);
  });

  it('replaces, deletes, and deletes what is not there', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('a', '1'), put('b', '1')] });
    await commit(store, { puts: [put('a', '2')], deletes: [bytes('b'), bytes('never')] });
    assert.equal(await valueOf(store, 'a'), '2');
    assert.deepEqual(await keysOf(store), ['a']);
  });

  it('keeps empty values apart from absent keys', async (t) => {
    const { store } = await setUp(suite, t);
    const version = await commit(store, { puts: [put('empty', '')] });
    const entry = await store.get(bytes('empty'));
    assert.equal(entry?.value.length, 0);
    assert.equal(entry.version, version);
    const page = await store.range({ start: bytes('e') }, wholeRange);
    assert.deepEqual(
      page.entries.map(({ value }) => value.length),
      [0],
    );
  });

  it('keeps large values whole', async (t) => {
    const { store } = await setUp(suite, t);
    const sizes = [4_000, 16_384, 16_385, 65_537, 1_048_576];
    const large = sizes.map((size) => Buffer.alloc(size, size % 251));
    const puts = large.map((value, index) => ({ key: bytes(`large ${index}`), value }));
    await commit(store, { puts });
    const read = await store.getMany(puts.map(({ key }) => key));
    for (const [index, entry] of read.entries()) {
      assert.ok(
        entry !== undefined && Buffer.compare(entry.value, puts[index]?.value ?? bytes('')) === 0,
      );
    }
    const page = await store.range({ start: bytes('') }, wholeRange);
    for (const [index, entry] of page.entries.entries()) {
      assert.ok(Buffer.compare(entry.value, puts[index]?.value ?? bytes('')) === 0);
    }
  });

  it('returns values that later reads and commits leave as they are', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('a', 'first'), put('b', 'other')] });
    const single = await store.get(bytes('a'));
    const paged = await store.range({ start: bytes('a') }, wholeRange);
    await commit(store, { puts: [put('a', 'after'), put('b', 'also!')] });
    for (let round = 0; round < 100; round += 1) {
      await store.get(bytes('b'));
      await store.range({ start: bytes('a') }, wholeRange);
    }
    assert.equal(String(single?.value), 'first');
    assert.deepEqual(
      paged.entries.map(({ key, value }) => `${String(key)}=${String(value)}`),
      ['a=first', 'b=other'],
    );
  });

  it('takes the longest legal entity key in any script', async (t) => {
    const { store } = await setUp(suite, t);
    for (const unit of ['k', 'é', '界', '\ud83d', '\udc4d', '\0', '\uffff']) {
      const longest = unit.repeat(512);
      const prefix = partitionPrefix('tables', 'a'.repeat(24), Number.MAX_SAFE_INTEGER, longest);
      const key = appendString(prefix, longest);
      assert.ok(key.length <= keyBytesMax);
      await commit(store, { puts: [{ key, value: bytes(unit) }] });
      const entry = await store.get(key);
      assert.ok(entry !== undefined);
      const page = await store.range({ start: key }, { ...wholeRange, limit: 1 });
      assert.equal(stringAt(page.entries[0]?.key ?? bytes(''), prefix.length), longest);
    }
  });

  it('takes keys up to the limit and refuses longer and empty ones', async (t) => {
    const { store } = await setUp(suite, t);
    const longest = Buffer.alloc(keyBytesMax, 0xff);
    const version = await commit(store, { puts: [{ key: longest, value: bytes('v') }] });
    assert.equal((await store.get(longest))?.version, version);
    for (const key of [Buffer.alloc(keyBytesMax + 1, 1), Buffer.alloc(0)]) {
      await assert.rejects(store.get(key));
      await assert.rejects(store.getMany([key]));
      await assert.rejects(store.commit(batch({ puts: [{ key, value: bytes('v') }] })));
      await assert.rejects(store.commit(batch({ deletes: [key] })));
      await assert.rejects(store.commit(batch({ checks: [{ key, version: 'absent' }] })));
    }
    assert.equal((await keysOf(store)).length, 1);
  });
}
