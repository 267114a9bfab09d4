import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { it } from '../../base/conformance/suite-test.js';
import { hasInstantVersions } from '../instant-versions.js';
import { partitionPrefix } from '../partition-prefix.js';
import { keyBytesMax } from '../store.js';
import { appendString, stringAt } from '../tuple.js';
import {
  batch,
  bytes,
  commit,
  keyIn,
  keyNamed,
  keysOf,
  nameOf,
  put,
  setUp,
  valueOf,
  wholeRange,
} from './batches.js';
import type { ConformanceSuite } from './suite.js';

/** Single keys: a read returns what was put. */
export function readsConformance(suite: ConformanceSuite): void {
  it('returns what was committed, and undefined for what was not', async (t) => {
    const { store } = await setUp(suite, t);
    const version = await commit(store, { puts: [put('a', 'one')] });
    const entry = await store.get(keyNamed('a'));
    assert.ok(entry !== undefined);
    assert.equal(entry.version, version);
    assert.deepEqual(Buffer.from(entry.key), keyNamed('a'));
    assert.deepEqual(Buffer.from(entry.value), bytes('one'));
    assert.equal(await store.get(keyNamed('b')), undefined);
    assert.equal(await store.get(keyNamed('a\0')), undefined);
  });

  it('tells at once no other version than a read returns', async (t) => {
    const { store } = await setUp(suite, t);
    if (!hasInstantVersions(store)) return;
    const told = () => ['a', 'b', 'c'].map((name) => store.versionNow(keyNamed(name)));
    const isTold = async (expected: (number | undefined)[]) => {
      const found = await store.getMany(['a', 'b', 'c'].map(keyNamed));
      assert.deepEqual(
        found.map((entry) => entry?.version),
        expected,
      );
      // A store may always answer that it does not know the version.
      for (const [index, version] of told().entries()) {
        if (version !== undefined) assert.equal(version, expected[index]);
      }
    };
    await isTold([undefined, undefined, undefined]);
    const first = await commit(store, { puts: [put('a', '1'), put('b', '1')] });
    await isTold([first, first, undefined]);
    const second = await commit(store, { puts: [put('a', '2')], deletes: [keyNamed('b')] });
    await isTold([second, undefined, undefined]);
    const third = await commit(store, { puts: [put('b', '3')], deletes: [keyNamed('a')] });
    await isTold([undefined, third, undefined]);
    await store.close();
    assert.throws(told);
  });

  it('returns many keys in the order asked, missing and repeated ones too', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('a', '1'), put('b', '2')] });
    const keys = ['b', 'x', 'a', 'b'].map(keyNamed);
    const found = await store.getMany(keys);
    const values = found.map((entry) => entry && Buffer.from(entry.value).toString());
    assert.deepEqual(values, ['2', undefined, '1', '2']);
    assert.deepEqual(await store.getMany([]), []);
  });

  it('returns keys of several partitions, in the order asked', async (t) => {
    const { store } = await setUp(suite, t);
    const keys = ['c', 'a', 'b'].map((partition) => keyIn(partition, 'row'));
    const versions = new Map<string, number>();
    for (const key of keys) {
      const puts = [{ key, value: bytes('value') }];
      versions.set(String(key), await commit(store, { puts }));
    }
    const asked = [...keys, keyIn('a', 'other'), ...keys.toReversed()];
    const found = await store.getMany(asked);
    assert.deepEqual(
      found.map((entry) => entry?.version),
      asked.map((key) => versions.get(String(key))),
    );
  });

  it('replaces, deletes, and deletes what is not there', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('a', '1'), put('b', '1')] });
    await commit(store, { puts: [put('a', '2')], deletes: [keyNamed('b'), keyNamed('never')] });
    assert.equal(await valueOf(store, 'a'), '2');
    assert.deepEqual(await keysOf(store), ['a']);
  });

  it('keeps empty values apart from absent keys', async (t) => {
    const { store } = await setUp(suite, t);
    const version = await commit(store, { puts: [put('empty', '')] });
    const entry = await store.get(keyNamed('empty'));
    assert.equal(entry?.value.length, 0);
    assert.equal(entry.version, version);
    const page = await store.range({ start: keyNamed('e') }, wholeRange);
    assert.deepEqual(
      page.entries.map(({ value }) => value.length),
      [0],
    );
  });

  it('keeps large values whole', async (t) => {
    const { store } = await setUp(suite, t);
    const sizes = [4_000, 16_384, 16_385, 65_537, 1_048_576];
    const large = sizes.map((size) => Buffer.alloc(size, size % 251));
    const puts = large.map((value, index) => ({ key: keyNamed(`large ${index}`), value }));
    await commit(store, { puts });
    const read = await store.getMany(puts.map(({ key }) => key));
    for (const [index, entry] of read.entries()) {
      assert.ok(
        entry !== undefined && Buffer.compare(entry.value, puts[index]?.value ?? bytes('')) === 0,
      );
    }
    const page = await store.range({ start: keyNamed('') }, wholeRange);
    for (const [index, entry] of page.entries.entries()) {
      assert.ok(Buffer.compare(entry.value, puts[index]?.value ?? bytes('')) === 0);
    }
  });

  it('returns values that later reads and commits leave as they are', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('a', 'first'), put('b', 'other')] });
    const single = await store.get(keyNamed('a'));
    const paged = await store.range({ start: keyNamed('a') }, wholeRange);
    await commit(store, { puts: [put('a', 'after'), put('b', 'also!')] });
    for (let round = 0; round < 100; round += 1) {
      await store.get(keyNamed('b'));
      await store.range({ start: keyNamed('a') }, wholeRange);
    }
    assert.equal(String(single?.value), 'first');
    assert.deepEqual(
      paged.entries.map(({ key, value }) => `${nameOf(key)}=${String(value)}`),
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

  // An index that compresses keys accepts a long key of few letters but may refuse others of the
  // same length.
  it('takes long keys that cannot be compressed', async (t) => {
    const { store } = await setUp(suite, t);
    const start = keyNamed('');
    for (const length of [1_024, 2_048, 2_600, 2_601, 2_700, 3_200, keyBytesMax]) {
      const key = Buffer.concat([start, noise(length - start.length)]);
      const version = await commit(store, { puts: [{ key, value: bytes(`${length}`) }] });
      assert.equal((await store.get(key))?.version, version, `${length} bytes`);
      const { entries } = await store.range({ start: key }, { ...wholeRange, limit: 1 });
      assert.deepEqual(entries[0]?.key, key, `${length} bytes`);
    }
  });

  it('takes keys up to the limit and refuses longer and empty ones', async (t) => {
    const { store } = await setUp(suite, t);
    const longest = keyNamed('\xff'.repeat(keyBytesMax - keyNamed('').length));
    const version = await commit(store, { puts: [{ key: longest, value: bytes('v') }] });
    assert.equal((await store.get(longest))?.version, version);
    const none = batch({});
    for (const key of [Buffer.concat([longest, bytes('a')]), Buffer.alloc(0)]) {
      await assert.rejects(store.get(key));
      await assert.rejects(store.getMany([key]));
      await assert.rejects(store.commit({ ...none, puts: [{ key, value: bytes('v') }] }));
      await assert.rejects(store.commit({ ...none, deletes: [key] }));
      await assert.rejects(store.commit({ ...none, checks: [{ key, version: 'absent' }] }));
    }
    assert.equal((await keysOf(store)).length, 1);
  });
}

/** Bytes without a pattern, the same ones for each length. */
function noise(length: number): Buffer {
  const key = Buffer.alloc(32, 1);
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(length));
}
