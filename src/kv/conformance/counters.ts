import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import { encodeCounter } from '../counter.js';
import { keyBytesMax } from '../store.js';
import { add, batch, keyNamed, check, commit, counterOf, keysOf, put, setUp } from './batches.js';
import type { ConformanceSuite } from './suite.js';

/** Counters: additions that read nothing, lose nothing and fail no check. */
export function countersConformance(suite: ConformanceSuite): void {
  it('adds to a counter, which is 0 where there is none and may fall below', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { adds: [add('a', 5), add('b', 0)] });
    assert.deepEqual(await keysOf(store), ['a', 'b'], 'a counter of 0 is there');
    for (const delta of [-7, 0, 2 ** 40, -(2 ** 41)])
      await commit(store, { adds: [add('a', delta)] });
    assert.equal(await counterOf(store, 'a'), 5 - 7 + 2 ** 40 - 2 ** 41);
    assert.equal(await counterOf(store, 'b'), 0);
    await commit(store, { puts: [{ key: keyNamed('a'), value: encodeCounter(-100) }] });
    await commit(store, { adds: [add('a', 1)] });
    assert.equal(await counterOf(store, 'a'), -99);
    await commit(store, { deletes: [keyNamed('a')] });
    await commit(store, { adds: [add('a', 3)] });
    assert.equal(await counterOf(store, 'a'), 3, 'a deleted counter begins again');
  });

  it('sums up the additions of many concurrent commits', async (t) => {
    const { store } = await setUp(suite, t);
    const deltas = Array.from({ length: 1_500 }, (_, index) => index - 400);
    await Promise.all(
      deltas.map((delta, index) =>
        commit(store, { puts: [put(`key ${index}`)], adds: [add('sum', delta), add('count', 1)] }),
      ),
    );
    assert.equal(
      await counterOf(store, 'sum'),
      deltas.reduce((sum, delta) => sum + delta, 0),
    );
    assert.equal(await counterOf(store, 'count'), deltas.length);
    assert.equal((await keysOf(store)).length, deltas.length + 2);
  });

  it('gives a counter the version of its last commit, which a check can demand', async (t) => {
    const { store } = await setUp(suite, t);
    const first = await commit(store, { adds: [add('a', 1)], checks: [check('a', 'absent')] });
    assert.equal((await store.get(keyNamed('a')))?.version, first);
    const second = await commit(store, { adds: [add('a', 1)], puts: [put('b')] });
    const entries = await store.getMany([keyNamed('a'), keyNamed('b')]);
    assert.deepEqual(
      entries.map((entry) => entry?.version),
      [second, second],
    );
    const third = await commit(store, { adds: [add('a', 1)], checks: [check('a', second)] });
    const page = await store.range({ start: keyNamed('a') }, { limit: 1, bytesMax: 100 });
    assert.equal(page.entries[0]?.version, third);
  });

  it('adds nothing when a check fails', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { adds: [add('a', 1)] });
    const checks = [check('x', 'present')];
    const adds = [add('a', 10), add('b', 10)];
    const results = await Promise.all([
      commit(store, { adds: [add('a', 100)] }),
      store.commit(batch({ checks, adds })),
      commit(store, { adds: [add('a', 1_000)] }),
    ]);
    assert.deepEqual(results[1], { ok: false, failedCheck: 0, actual: 'absent' });
    assert.equal(await counterOf(store, 'a'), 1_101);
    assert.deepEqual(await keysOf(store), ['a']);
  });

  it('puts, deletes and adds in one commit', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('old')], adds: [add('count', 1)] });
    await commit(store, {
      checks: [check('old', 'present'), check('count', 'present')],
      puts: [put('new'), put('newer')],
      deletes: [keyNamed('old'), keyNamed('never')],
      adds: [add('count', 1), add('total', 3)],
    });
    assert.deepEqual(await keysOf(store), ['count', 'new', 'newer', 'total']);
    assert.equal(await counterOf(store, 'count'), 2);
    assert.equal(await counterOf(store, 'total'), 3);
  });

  it('refuses an addition that makes no counter, and applies nothing of its commit', async (t) => {
    const { store } = await setUp(suite, t);
    const largest = Number.MAX_SAFE_INTEGER;
    await commit(store, { puts: [put('text', 'abc')], adds: [add('full', largest), add('a', 1)] });
    const refused = [
      add('text', 1),
      add('full', 1),
      add('b', 0.5),
      add('b', largest + 1),
      add('b'.repeat(keyBytesMax), 1),
      { key: Buffer.alloc(0), delta: 1 },
    ];
    for (const each of refused) {
      const parts = { puts: [put('c')], deletes: [keyNamed('text')], adds: [add('a', 1), each] };
      const deletes = each.key.equals(keyNamed('text')) ? [] : parts.deletes;
      await assert.rejects(store.commit({ ...batch({}), ...parts, deletes }), `${each.delta}`);
    }
    assert.deepEqual(await keysOf(store), ['a', 'full', 'text']);
    assert.equal(await counterOf(store, 'a'), 1);
    assert.equal(await counterOf(store, 'full'), largest);
  });
}
