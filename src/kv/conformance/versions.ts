import assert from 'node:assert/strict';
import { it } from './limited-test.js';
import { bytes, commit, put, setUp } from './batches.js';
import type { ConformanceSuite } from './suite.js';

const hourMicros = 3_600_000_000;

/** Versions: they follow the clock, and they only rise. */
export function versionsConformance(suite: ConformanceSuite): void {
  it('takes versions from the clock', async (t) => {
    const { store, clock } = await setUp(suite, t);
    clock.advanceMicros(123);
    assert.equal(await commit(store, { puts: [put('a')] }), clock.nowMicros());
    clock.advanceMicros(5_000);
    assert.equal(await commit(store, { puts: [put('a')] }), clock.nowMicros());
  });

  it('raises versions by one while the clock stands still or has stepped back', async (t) => {
    const { store, clock } = await setUp(suite, t);
    const first = await commit(store, { puts: [put('a')] });
    assert.equal(await commit(store, { puts: [put('b')] }), first + 1);
    clock.advanceMicros(-hourMicros);
    assert.equal(await commit(store, { deletes: [bytes('a')] }), first + 2);
    assert.equal(await commit(store, { puts: [put('a')] }), first + 3);
    clock.advanceMicros(2 * hourMicros);
    assert.equal(await commit(store, { puts: [put('a')] }), clock.nowMicros());
  });

  it('gives each of many concurrent commits a version of its own, at least the clock', async (t) => {
    const { store, clock } = await setUp(suite, t);
    const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`);
    const versions = await Promise.all(keys.map((key) => commit(store, { puts: [put(key)] })));
    assert.equal(new Set(versions).size, versions.length);
    for (const [index, version] of versions.entries()) {
      assert.ok(Number.isSafeInteger(version));
      assert.ok(version >= clock.nowMicros());
      assert.equal((await store.get(bytes(keys[index] ?? '')))?.version, version);
    }
  });

  if (!suite.capabilities.persistent) return;

  it('keeps data, and keeps raising versions, when opened again with an older clock', async (t) => {
    const { store, clock, reopen } = await setUp(suite, t);
    const first = await commit(store, { puts: [put('a')] });
    const deleted = await commit(store, { puts: [put('b')], deletes: [bytes('a')] });
    clock.advanceMicros(-hourMicros);
    const again = await reopen?.();
    assert.ok(again !== undefined);
    assert.equal(await again.get(bytes('a')), undefined);
    assert.equal((await again.get(bytes('b')))?.version, deleted);
    const next = await commit(again, { puts: [put('a')] });
    assert.ok(next > deleted && deleted > first);
  });
}
