import assert from 'node:assert/strict';
import { encodeCounter } from '../counter.js';
import { storeKey } from '../partition-prefix.js';
import { keyBytesMax, type Entry } from '../store.js';
import { keyAfter, prefixRange } from '../tuple.js';
import {
  add,
  bytes,
  check,
  commit,
  counterOf,
  keyIn,
  keyNamed,
  keysOf,
  memberOf,
  nameOf,
  put,
  setUp,
  valueOf,
} from './batches.js';
import { it } from '../../base/conformance/suite-test.js';
import type { ConformanceSuite } from './suite.js';

const hourMicros = 3_600_000_000;
const nothing = { entries: [], deletes: [], floor: 0 };

/** Transfers between stores: entries that keep their versions, and the cuts of a range. */
export function transfersConformance(suite: ConformanceSuite): void {
  ingestConformance(suite);
  sampleConformance(suite);
}

function ingestConformance(suite: ConformanceSuite): void {
  it('keeps the versions of ingested entries, older and newer than what is there', async (t) => {
    const { store, clock } = await setUp(suite, t);
    await commit(store, { puts: [put('a', 'old'), put('gone'), put('kept')] });
    const now = clock.nowMicros();
    const entries = [
      entry('a', 'older', 7),
      entry('b', 'newer', now + 500),
      { ...entry('count', '', 9), value: encodeCounter(40) },
      { key: keyIn('other', 'row'), value: bytes('elsewhere'), version: 8 },
      { key: storeKey('progress', 1), value: bytes('b'), version: 1 },
    ];
    const deletes = [keyNamed('gone'), keyNamed('never')];
    await memberOf(store).ingest({ entries, deletes, floor: 0 });
    for (const { key, value, version } of entries) {
      const found = await store.get(key);
      assert.equal(found?.version, version);
      assert.ok(Buffer.from(found.value).equals(value));
    }
    assert.deepEqual(await keysOf(store), ['a', 'b', 'count', 'kept']);
    await commit(store, { checks: [check('a', 7)], puts: [put('a', 'again')] });
    await commit(store, { checks: [check('count', 9)], adds: [add('count', 2)] });
    assert.equal(await valueOf(store, 'a'), 'again');
    assert.equal(await counterOf(store, 'count'), 42);
  });

  it('gives commits versions above the floor and above all that was ingested', async (t) => {
    const { store, clock } = await setUp(suite, t);
    const member = memberOf(store);
    const later = clock.nowMicros() + hourMicros;
    await member.ingest({ ...nothing, floor: later });
    const first = await commit(store, { puts: [put('a')] });
    assert.ok(first > later);
    const other = { key: keyIn('other', 'row'), value: bytes('v') };
    assert.ok((await commit(store, { puts: [other] })) > later);
    await member.ingest({ ...nothing, entries: [entry('b', 'v', later + 1_000)], floor: later });
    const second = await commit(store, { puts: [put('b')] });
    assert.ok(second > later + 1_000);
    await member.ingest({
      ...nothing,
      entries: [entry('c', 'v', 3)],
      deletes: [keyNamed('a')],
      floor: 5,
    });
    assert.deepEqual(await keysOf(store), ['b', 'c']);
    assert.ok((await commit(store, { puts: [put('b')] })) > second);
  });

  it('refuses what cannot be ingested, and applies nothing of it', async (t) => {
    const { store } = await setUp(suite, t);
    const long = Buffer.concat([keyNamed(''), Buffer.alloc(keyBytesMax, 1)]);
    const right = entry('a', 'v', 5);
    const refused = [
      { ...nothing, entries: [right, entry('b', 'v', 0)] },
      { ...nothing, entries: [right, entry('b', 'v', 1.5)] },
      { ...nothing, entries: [right, { ...right, key: long }] },
      { ...nothing, entries: [right], deletes: [Buffer.alloc(0)] },
      { ...nothing, entries: [right], floor: -1 },
      { ...nothing, entries: [right], floor: Number.MAX_SAFE_INTEGER + 1 },
    ];
    for (const each of refused) await assert.rejects(memberOf(store).ingest(each));
    assert.deepEqual(await keysOf(store), []);
  });

  if (!suite.capabilities.persistent) return;

  it('obeys a floor when opened again with a clock an hour back', async (t) => {
    const { store, clock, reopen } = await setUp(suite, t);
    const floor = clock.nowMicros() + hourMicros;
    const entries = [entry('a', 'moved', 11)];
    await memberOf(store).ingest({ entries, deletes: [], floor });
    clock.advanceMicros(-hourMicros);
    const again = await reopen?.();
    assert.ok(again !== undefined);
    assert.equal((await again.get(keyNamed('a')))?.version, 11);
    assert.ok((await commit(again, { puts: [put('a')] })) > floor);
  });
}

function sampleConformance(suite: ConformanceSuite): void {
  it('tells about how much a range holds, and nothing of what is outside', async (t) => {
    const { store } = await setUp(suite, t);
    const member = memberOf(store);
    const partition = prefixRange(keyNamed(''));
    assert.deepEqual(await member.sample(partition, 3), { keys: 0, bytes: 0, cuts: [] });
    const outside = { key: keyIn('other', 'row'), value: Buffer.alloc(500_000) };
    await commit(store, { puts: [outside] });
    const puts = Array.from({ length: 1_000 }, (_, index) => put(`key ${index + 1_000}`));
    await commit(store, { puts });
    const bytesHeld = puts.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
    const { keys, bytes: held, cuts } = await member.sample(partition, 0);
    assert.ok(keys >= 500 && keys <= 2_000, `about 1,000 keys, not ${keys}`);
    assert.ok(held >= bytesHeld / 2 && held <= 2 * bytesHeld, `about ${bytesHeld}, not ${held}`);
    assert.deepEqual(cuts, []);
  });

  it('cuts a range into parts that are about even in bytes', async (t) => {
    const { store } = await setUp(suite, t);
    const names = Array.from({ length: 2_000 }, (_, index) => `key ${index + 10_000}`);
    const puts = names.map((name, index) => put(name, 'v'.repeat(index < 1_000 ? 900 : 10)));
    await commit(store, { puts });
    const range = prefixRange(keyNamed(''));
    const { cuts } = await memberOf(store).sample(range, 3);
    assert.equal(cuts.length, 3);
    const sizes = [0, 0, 0, 0];
    for (const { key, value } of puts) {
      const part = cuts.filter((cut) => Buffer.compare(cut, key) <= 0).length;
      sizes[part] = (sizes[part] ?? 0) + key.length + value.length;
    }
    const even = sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    assert.ok(
      sizes.every((size) => size > even / 2 && size < 2 * even),
      `parts of ${sizes.join(', ')} bytes`,
    );
  });

  it('cuts at keys of the range in order, each once, as far as there are any', async (t) => {
    const { store } = await setUp(suite, t);
    const names = ['a', 'b', 'c', 'd', 'e'];
    await commit(store, { puts: names.map((name) => put(name)) });
    const range = { start: keyAfter(keyNamed('a')), end: keyNamed('e') };
    for (const asked of [0, 1, 2, 3, 50]) {
      const { cuts } = await memberOf(store).sample(range, asked);
      const found = cuts.map((key) => nameOf(key));
      assert.ok(found.length <= asked);
      assert.ok(asked === 0 || found.length > 0);
      assert.deepEqual(found, [...new Set(found)].toSorted());
      assert.ok(
        found.every((name) => ['c', 'd'].includes(name)),
        found.join(),
      );
    }
  });
}

function entry(name: string, value: string, version: number): Entry {
  return { key: keyNamed(name), value: bytes(value), version };
}
