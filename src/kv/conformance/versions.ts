import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import { bytes, commit, keyIn, keyNamed, put, setUp } from './batches.js';
import type { ConformanceSuite } from './suite.js';

const hourMicros = 3_600_000_000;

/** Versions: they follow the clock, and those of a partition only rise. */
export function versionsConformance(suite: ConformanceSuite): void {
  it('takes versions from the clock', async (t) => {
    const { store, clock } = await setUp(suite, t);
    const aheadMax = suite.hasOtherCommits === true ? 1_000_000 : 0;
    for (const step of [123, 5_000, 10_000_000]) {
      clock.advanceMicros(step);
      const ahead = (await commit(store, { puts: [put('a')] })) - clock.nowMicros();
      assert.ok(ahead >= 0 && ahead <= aheadMax, `${ahead} µs ahead of the clock`);
    }
  });

  it('raises the versions of a partition while the clock stands still or steps back', async (t) => {
    const { store, clock } = await setUp(suite, t);
    const last = new Map<string, number>();
    for (const step of [0, -hourMicros, 0, 17, 2 * hourMicros, -hourMicros]) {
      clock.advanceMicros(step);
      for (const partition of ['a', 'b', 'a', 'c']) {
        const key = keyIn(partition, 'row');
        for (const parts of [{ puts: [{ key, value: bytes('v') }] }, { deletes: [key] }]) {
          const version = await commit(store, parts);
          assert.ok(Number.isSafeInteger(version) && version >= clock.nowMicros());
          assert.ok(version > (last.get(partition) ?? 0), `of partition ${partition}`);
          last.set(partition, version);
        }
      }
    }
  });

  it('gives each of many concurrent commits a version of its own, at least the clock', async (t) => {
    const { store, clock } = await setUp(suite, t);
    const keys = Array.from({ length: 100 }, (_, index) => `key ${index}`);
    const versions = await Promise.all(keys.map((key) => commit(store, { puts: [put(key)] })));
    assert.equal(new Set(versions).size, versions.length);
    for (const [index, version] of versions.entries()) {
      assert.ok(Number.isSafeInteger(version));
      assert.ok(version >= clock.nowMicros());
      assert.equal((await store.get(keyNamed(keys[index] ?? '')))?.version, version);
    }
  });

  if (suite.capabilities.versionsGlobal) {
    it('raises versions over all partitions, by one while the clock does not go on', async (t) => {
      const { store, clock } = await setUp(suite, t);
      const first = await commit(store, { puts: [put('a')] });
      const other = { key: keyIn('other', 'row'), value: bytes('v') };
      assert.equal(await commit(store, { puts: [other] }), first + 1);
      clock.advanceMicros(-hourMicros);
      assert.equal(await commit(store, { deletes: [keyNamed('a')] }), first + 2);
      assert.equal(await commit(store, { deletes: [other.key] }), first + 3);
      clock.advanceMicros(2 * hourMicros);
      assert.equal(await commit(store, { puts: [put('a')] }), clock.nowMicros());
    });
  }

  if (!suite.capabilities.persistent) return;

  it('keeps data, and keeps raising versions, when opened again with an older clock', async (t) => {
    const { store, clock, reopen } = await setUp(suite, t);
    const first = await commit(store, { puts: [put('a')] });
    const deleted = await commit(store, { puts: [put('b')], deletes: [keyNamed('a')] });
    clock.advanceMicros(-hourMicros);
    const again = await reopen?.();
    assert.ok(again !== undefined);
    assert.equal(await again.get(keyNamed('a')), undefined);
    assert.equal((await again.get(keyNamed('b')))?.version, deleted);
    const next = await commit(again, { puts: [put('a')] });
    assert.ok(next > deleted && deleted > first);
  });
}
