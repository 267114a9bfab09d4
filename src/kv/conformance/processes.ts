import assert from 'node:assert/strict';
import { it } from '../../base/conformance/suite-test.js';
import type { Store } from '../store.js';
import {
  add,
  batch,
  keyNamed,
  check,
  commit,
  counterOf,
  keysOf,
  put,
  setUp,
  valueOf,
} from './batches.js';
import type { ConformanceSuite } from './suite.js';

/** Durability and several processes. */
export function processesConformance(suite: ConformanceSuite): void {
  if (suite.capabilities.groupsCommits) {
    it('shares one sync among concurrent commits', async (t) => {
      const { store, stats } = await setUp(suite, t);
      assert.ok(stats !== undefined);
      const before = stats();
      const keys = Array.from({ length: 400 }, (_, index) => `key ${index}`);
      await Promise.all(keys.map((key) => commit(store, { puts: [put(key)] })));
      const after = stats();
      assert.equal(after.commits - before.commits, 400);
      assert.ok(after.syncs > before.syncs);
      assert.ok(after.syncs - before.syncs <= 20, `${after.syncs - before.syncs} syncs`);
    });
  }
  if (!suite.capabilities.processes) return;

  it('has every acknowledged commit after its process was killed', async (t) => {
    const { store, spawn, reopen } = await setUp(suite, t);
    await store.close();
    const child = await spawn?.('alone');
    assert.ok(child !== undefined);
    const acknowledged = await writeUntilKilled(child.store, () => child.kill());
    const again = await reopen?.();
    assert.ok(again !== undefined);
    for (const { key, version } of acknowledged) {
      assert.equal((await again.get(keyNamed(key)))?.version, version, `${key} is lost`);
    }
    const keys = await keysOf(again);
    assert.equal(await counterOf(again, 'count'), keys.length - 1, 'keys beside the counter');
  });

  it('shows a commit acknowledged in one process to a read in another', async (t) => {
    const { store, spawn } = await setUp(suite, t);
    const child = await spawn?.('beside');
    assert.ok(child !== undefined);
    for (let round = 0; round < 30; round += 1) {
      await commit(child.store, { puts: [put('ping', `${round}`)] });
      assert.equal(await valueOf(store, 'ping'), `${round}`);
      await commit(store, { puts: [put('pong', `${round}`)] });
      assert.equal(await valueOf(child.store, 'pong'), `${round}`);
    }
    await child.store.close();
  });

  it('isolates the commits of several processes and repeats no version', async (t) => {
    const { store, spawn } = await setUp(suite, t);
    const children = [await spawn?.('beside'), await spawn?.('beside')];
    await commit(store, { puts: [put('counter', '0')] });
    const stores = [store, ...children.flatMap((child) => (child ? [child.store] : []))];
    assert.equal(stores.length, 3);
    const workers = stores.flatMap((each) => [each, each, each]);
    const count = workers.length * 20;
    const options = { times: 20, attemptsMax: count };
    const versions = await Promise.all(workers.map((each) => increment(each, options)));
    assert.equal(await valueOf(store, 'counter'), `${count}`);
    assert.equal(new Set(versions.flat()).size, count);
    for (const own of versions) assert.deepEqual(own.toSorted(byNumber), own);
    for (const child of children) await child?.store.close();
  });

  it('sums up the additions of several processes', async (t) => {
    const { store, spawn } = await setUp(suite, t);
    const children = [await spawn?.('beside'), await spawn?.('beside'), await spawn?.('beside')];
    const stores = [store, ...children.flatMap((child) => (child ? [child.store] : []))];
    assert.equal(stores.length, 4);
    const additions = stores.flatMap((each, index) =>
      Array.from({ length: 300 }, () => commit(each, { adds: [add('sum', 10 ** index)] })),
    );
    const versions = await Promise.all(additions);
    assert.equal(new Set(versions).size, 1200);
    for (const each of stores) assert.equal(await counterOf(each, 'sum'), 300 * 1111);
    for (const child of children) await child?.store.close();
  });
}

/** Limits one writer, so that it ends when an engine acknowledges nothing. */
const commitsMax = 10_000;

interface Acknowledged {
  readonly key: string;
  readonly version: number;
}

/** Eight writers at a time; the process is killed while they write. */
async function writeUntilKilled(
  store: Store,
  kill: () => Promise<void>,
): Promise<readonly Acknowledged[]> {
  const acknowledged: Acknowledged[] = [];
  let killed: Promise<void> | undefined;
  const writer = async (name: number): Promise<void> => {
    for (let count = 0; killed === undefined && count < commitsMax; count += 1) {
      const key = `key ${name} ${count}`;
      const counted = batch({ puts: [put(key)], adds: [add('count', 1)] });
      const result = await store.commit(counted).catch(() => undefined);
      if (result?.ok === true) acknowledged.push({ key, version: result.version });
      if (acknowledged.length >= 500) killed ??= kill();
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, name) => writer(name)));
  await killed;
  assert.ok(acknowledged.length >= 500);
  return acknowledged;
}

/**
 * A conflict of one attempt means that another commit was applied, so `attemptsMax` is the sum of
 * all `times`.
 */
async function increment(
  store: Store,
  { times, attemptsMax }: { readonly times: number; readonly attemptsMax: number },
): Promise<number[]> {
  const versions: number[] = [];
  for (let attempt = 0; versions.length < times; attempt += 1) {
    assert.ok(attempt < attemptsMax, 'commits conflict with none that applied');
    const entry = await store.get(keyNamed('counter'));
    assert.ok(entry !== undefined);
    const puts = [put('counter', `${Number(Buffer.from(entry.value).toString()) + 1}`)];
    const result = await store.commit(batch({ checks: [check('counter', entry.version)], puts }));
    if (result.ok) versions.push(result.version);
  }
  return versions;
}

function byNumber(left: number, right: number): number {
  return left - right;
}
