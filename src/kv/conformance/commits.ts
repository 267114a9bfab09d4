import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import { StoreClosedError } from '../errors.js';
import { batch, keyNamed, check, commit, keysOf, put, setUp, valueOf } from './batches.js';
import { besideCommits } from './beside-commits.js';
import type { ConformanceSuite } from './suite.js';

/** Commits: checks, all or nothing, the end of a store. */
export function commitsConformance(suite: ConformanceSuite): void {
  it('applies a commit whose checks hold', async (t) => {
    const { store } = await setUp(suite, t);
    const version = await commit(store, { checks: [check('a', 'absent')], puts: [put('a')] });
    await commit(store, {
      checks: [check('a', version), check('a', 'present'), check('b', 'absent')],
      puts: [put('a', 'second'), put('b')],
    });
    assert.equal(await valueOf(store, 'a'), 'second');
    await commit(store, { checks: [check('b', 'present')], deletes: [keyNamed('b')] });
    await commit(store, { checks: [check('b', 'absent')], puts: [put('c')] });
    assert.deepEqual(await keysOf(store), ['a', 'c']);
  });

  it('tells the first check that failed and what it found', async (t) => {
    const { store } = await setUp(suite, t);
    const version = await commit(store, { puts: [put('a'), put('b')] });
    const attempt = (...checks: ReturnType<typeof check>[]) =>
      store.commit(batch({ checks, puts: [put('c')], deletes: [keyNamed('a')] }));

    const present = check('a', 'present');
    const failed = (failedCheck: number, actual: number | 'absent') => ({
      ok: false,
      failedCheck,
      actual,
    });
    assert.deepEqual(await attempt(check('a', 'absent')), failed(0, version));
    assert.deepEqual(await attempt(present, check('a', version + 1)), failed(1, version));
    assert.deepEqual(await attempt(present, check('x', 'present')), failed(1, 'absent'));
    assert.deepEqual(await attempt(check('x', version), check('y', 1)), failed(0, 'absent'));
    assert.deepEqual(await keysOf(store), ['a', 'b'], 'nothing was applied');
  });

  it('forgets a new key that was deleted, and takes it again', async (t) => {
    const { store } = await setUp(suite, t);
    const fresh = (name: string, value: string) => ({ ...put(name, value), isNew: true });
    for (const value of ['first', 'second']) {
      await commit(store, { puts: [fresh('a', value), fresh('b', value)] });
      await commit(store, { deletes: [keyNamed('a')] });
      await commit(store, { puts: [fresh('a', `${value} again`)], deletes: [keyNamed('b')] });
      assert.equal(await valueOf(store, 'a'), `${value} again`);
      await commit(store, { puts: [put('a', value)] });
      assert.equal(await valueOf(store, 'a'), value);
      assert.deepEqual(await keysOf(store), ['a']);
      await commit(store, { deletes: [keyNamed('a')] });
    }
    assert.deepEqual(await keysOf(store), []);
  });

  it('applies a commit of many writes whole', async (t) => {
    const { store } = await setUp(suite, t);
    const keys = Array.from({ length: 300 }, (_, index) => `key ${String(index).padStart(3, '0')}`);
    const version = await commit(store, { puts: keys.map((key) => put(key)) });
    const entries = await store.getMany(keys.map(keyNamed));
    assert.ok(entries.every((entry) => entry?.version === version));
    await commit(store, { deletes: keys.slice(1).map(keyNamed) });
    assert.deepEqual(await keysOf(store), ['key 000']);
  });

  it('lets one of many commits win that want the same key to be absent', async (t) => {
    const { store } = await setUp(suite, t);
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        store.commit(batch({ checks: [check('a', 'absent')], puts: [put('a', `${index}`)] })),
      ),
    );
    const winners = results.flatMap((result, index) => (result.ok ? [index] : []));
    assert.equal(winners.length, 1);
    assert.equal(await valueOf(store, 'a'), `${winners[0]}`);
  });

  it('isolates concurrent commits: no update of a counter is lost', async (t) => {
    const { store } = await setUp(suite, t);
    await commit(store, { puts: [put('counter', '0')] });
    const count = 40;
    // A conflict of one attempt means that another commit was applied.
    const increment = async (attemptsLeft: number): Promise<void> => {
      assert.ok(attemptsLeft > 0, 'commits conflict with none that applied');
      const entry = await store.get(keyNamed('counter'));
      assert.ok(entry !== undefined);
      const checks = [check('counter', entry.version)];
      const puts = [put('counter', `${Number(String(entry.value)) + 1}`)];
      if (!(await store.commit(batch({ checks, puts }))).ok) await increment(attemptsLeft - 1);
    };
    await Promise.all(Array.from({ length: count }, () => increment(count)));
    assert.equal(await valueOf(store, 'counter'), `${count}`);
  });

  it('never shows a commit half to a concurrent read', async (t) => {
    const { store } = await setUp(suite, t);
    let count = 0;
    const write = () => {
      count += 1;
      return commit(store, { puts: [put('left', `${count}`), put('right', `${count}`)] });
    };
    await write();
    const keys = [keyNamed('left'), keyNamed('right')];
    for (let round = 0; round < 20; round += 1) {
      const [left, right] = await besideCommits(write, () => store.getMany(keys));
      assert.ok(left !== undefined && right !== undefined);
      assert.deepEqual(left.value, right.value);
      assert.equal(left.version, right.version);
    }
  });

  it('refuses every call after it was closed, and may be closed twice', async (t) => {
    const { store } = await setUp(suite, t);
    const keys = Array.from({ length: 2_000 }, (_, index) => `late ${index}`);
    const late = keys.map((key) => store.commit(batch({ puts: [put(key)] })));
    await Promise.all([store.close(), store.close()]);
    await store.close();
    const results = await Promise.all(late);
    assert.ok(
      results.every(({ ok }) => ok),
      'closing waits for commits under way',
    );
    await assert.rejects(store.get(keyNamed('a')), StoreClosedError);
    await assert.rejects(store.getMany([keyNamed('a')]), StoreClosedError);
    const options = { limit: 1, bytesMax: 1 };
    await assert.rejects(store.range({ start: keyNamed('a') }, options), StoreClosedError);
    await assert.rejects(store.commit(batch({ puts: [put('a')] })), StoreClosedError);
  });
}
