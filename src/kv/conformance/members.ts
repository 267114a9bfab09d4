import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { Bytes } from '../../base/bytes.js';
import { GuardError } from '../errors.js';
import type { Guard } from '../guards.js';
import type { MemberStore } from '../member-store.js';
import { storeKey } from '../partition-prefix.js';
import type { Store } from '../store.js';
import {
  batch,
  bytes,
  check,
  commit,
  keyNamed,
  keysOf,
  memberOf,
  put,
  setUp,
  valueOf,
} from './batches.js';
import { it } from '../../base/conformance/suite-test.js';
import type { ConformanceSuite } from './suite.js';

/** Limits the writers of the fence test, so that they end when an engine does not fence them. */
const commitsMax = 1_000;
const fenceRoundsDefault = 6;
const writersMax = 8;
const writersOfProcess = 4;
const guardKey = storeKey('guard', 1);

/** Guards, and the fence that makes them reliable. */
export function guardsConformance(suite: ConformanceSuite): void {
  it('carries out calls whose guard stands', async (t) => {
    const store = memberOf((await setUp(suite, t)).store);
    const guard = await putGuard(store, 'first');
    await store.commit({ ...batch({ puts: [put('a', 'value')] }), guard });
    const ingestion = { entries: [], deletes: [keyNamed('none')], floor: 0, guard };
    await store.ingest(ingestion);
    const options = { limit: 9, bytesMax: 999, guard };
    const key = keyNamed('a');
    const read = [
      await store.get(key, { guard }),
      ...(await store.getMany([key], { guard })),
      ...(await store.range({ start: key }, options)).entries,
    ];
    assert.deepEqual(
      read.slice(0, 3).map((entry) => entry && String(Buffer.from(entry.value))),
      ['value', 'value', 'value'],
    );
    await store.sample({ start: key }, 1, { guard });
  });

  it('refuses calls whose guard has another version or is absent, and does nothing', async (t) => {
    const store = memberOf((await setUp(suite, t)).store);
    const standing = await putGuard(store, 'first');
    const version = await commit(store, { puts: [put('a', 'before')] });
    const refused: [Guard, number | 'absent'][] = [
      [{ key: guardKey, version: standing.version + 1 }, standing.version],
      [{ key: guardKey, version: 1 }, standing.version],
      [{ key: storeKey('guard', 2), version: standing.version }, 'absent'],
    ];
    for (const [guard, actual] of refused) {
      for (const call of guardedCalls(store, guard)) {
        await assert.rejects(
          call,
          (error) => error instanceof GuardError && error.actual === actual,
        );
      }
    }
    // The guard is checked first.
    const [[guard] = []] = refused;
    const failing = { ...batch({ checks: [check('a', 'absent')] }), ...(guard && { guard }) };
    await assert.rejects(store.commit(failing), GuardError);
    assert.deepEqual(await keysOf(store), ['a']);
    assert.equal((await store.get(keyNamed('a')))?.version, version);
  });

  it('reads guard and data in one snapshot', async (t) => {
    const store = memberOf((await setUp(suite, t)).store);
    const key = keyNamed('data');
    const write = () =>
      commit(store, { puts: [put('data'), { key: guardKey, value: bytes('guard') }] });
    await write();
    const over = new AbortController();
    const writer = async () => {
      for (let count = 0; !over.signal.aborted && count < commitsMax; count += 1) {
        await write();
        await turn();
      }
    };
    const written = writer();
    try {
      for (let round = 0; round < 60; round += 1) await readGuarded(store, key, round % 2);
    } finally {
      over.abort();
      await written;
    }
  });

  it('lets no guarded commit through behind a fence, whoever writes', async (t) => {
    const { store, spawn } = await setUp(suite, t);
    const writers: MemberStore[] = [];
    while (writers.length < writersMax) {
      const child = suite.capabilities.processes ? await spawn?.('beside') : undefined;
      const writer = memberOf(child?.store ?? store);
      for (let count = 0; count < writersOfProcess; count += 1) writers.push(writer);
    }
    for (let round = 1; round <= (suite.fenceRounds ?? fenceRoundsDefault); round += 1) {
      await fenceOff(memberOf(store), writers, round);
    }
    for (const writer of new Set(writers)) if (writer !== store) await writer.close();
  });
}

async function putGuard(store: Store, value: string, key = guardKey): Promise<Guard> {
  return { key, version: await commit(store, { puts: [{ key, value: bytes(value) }] }) };
}

/** A guarded read returns the state of the commit that wrote the guard, or is refused. */
async function readGuarded(store: MemberStore, key: Bytes, turns: number): Promise<void> {
  const version = (await store.get(guardKey))?.version ?? 0;
  // The guard may be outdated by then.
  for (let count = 0; count < turns; count += 1) await turn();
  const guard = { key: guardKey, version };
  const page = { limit: 1, bytesMax: 0, guard };
  const reads = [
    store.get(key, { guard }),
    store.getMany([key], { guard }).then(([entry]) => entry),
    store.range({ start: key }, page).then(({ entries }) => entries[0]),
  ];
  for (const result of await Promise.allSettled(reads)) {
    if (result.status === 'fulfilled') assert.equal(result.value?.version, version);
    else assert.ok(result.reason instanceof GuardError, String(result.reason));
  }
  await turn();
}

/** Calls whose effect would be visible in the store. */
function* guardedCalls(store: MemberStore, guard: Guard): Generator<Promise<unknown>> {
  const key = keyNamed('a');
  const end = { start: key, end: bytes('') };
  yield store.get(key, { guard });
  yield store.getMany([key], { guard });
  yield store.getMany([], { guard });
  yield store.range({ start: key }, { limit: 1, bytesMax: 1, guard });
  yield store.range(end, { limit: 1, bytesMax: 1, guard });
  yield store.sample({ start: key }, 0, { guard });
  yield store.commit({ ...batch({ puts: [put('b')], deletes: [key] }), guard });
  const entries = [{ ...put('c'), version: 5 }];
  yield store.ingest({ entries, deletes: [key], floor: 0, guard });
}

/** Writers commit under a guard until a fence stops them; nothing is applied afterwards. */
async function fenceOff(
  store: MemberStore,
  writers: readonly MemberStore[],
  round: number,
): Promise<void> {
  const guard = await putGuard(store, 'serving');
  const acknowledged: string[] = [];
  const write = async (writer: MemberStore, name: number): Promise<void> => {
    await pause(name);
    for (let count = 0; count < commitsMax; count += 1) {
      const key = `${round} ${name} ${count}`;
      try {
        await writer.commit({ ...batch({ puts: [put(key)] }), guard });
      } catch (error) {
        assert.ok(error instanceof GuardError, String(error));
        return;
      }
      acknowledged.push(key);
      await turn();
    }
    assert.fail('the fence stops no writer');
  };
  const writing = Promise.all(writers.map(write));
  writing.catch(() => undefined);
  for (let turns = 0; acknowledged.length < 40 && turns < 1_000_000; turns += 1) await turn();
  // Runs at varying distances to the writers.
  await pause(round);
  const checks = [{ key: guardKey, version: guard.version }];
  const fence = batch({ checks, puts: [{ key: guardKey, value: bytes('fenced') }] });
  assert.equal((await store.fence(fence)).ok, true);
  const behind = await keysOf(store);
  await writing;
  assert.deepEqual(await keysOf(store), behind, 'nothing was applied behind the fence');
  const kept = new Set(behind);
  assert.deepEqual(
    acknowledged.filter((key) => !kept.has(key)),
    [],
  );
  assert.equal(await valueOf(store, acknowledged[0] ?? ''), `value of ${acknowledged[0]}`);
}
