import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import { deferred } from '../../src/base/async/deferred.js';
import { holdingTimers, type Timers } from '../../src/base/async/timers.js';
import { manualClock } from '../../src/base/clock.js';
import { openMemoryStore } from '../../src/engines/memory/store.js';
import { partitionPrefix } from '../../src/kv/partition-prefix.js';
import { appendString } from '../../src/kv/tuple.js';
import { Balancer, type BalancerMode } from '../../src/partition/balancer/balancer.js';
import { Catalogue } from '../../src/partition/catalogue.js';
import { RangeMeter } from '../../src/partition/load/range-meter.js';
import { removeMember } from '../../src/partition/membership.js';
import { openPartitionedStore } from '../../src/partition/store.js';
import { defaultBalancerPolicy } from '../../src/placement/balancer/policy.js';
import { hurried, manualTimers } from '../support/manual-timers.js';
import { SimRandom } from '../support/sim-random.js';
import { admitted, leaving, membersOf, operationsOver } from './composed-stores.js';
import { costly } from '../support/run-length.js';

const partitions = 32;
/** Few calls make a range busy, so that the test has few. */
const policy = { ...defaultBalancerPolicy, splitCallsPerSecond: 20, busyCallsPerSecond: 1 };

async function world(storeCount: number, given = policy, timers: Timers = holdingTimers) {
  const clock = manualClock();
  const random = new SimRandom(7);
  const randomness = { bytes: (n: number) => random.bytes(n), uuid: () => random.uuid() };
  const stores: ReturnType<typeof leaving>[] = [];
  for (let count = 0; count < storeCount; count += 1) {
    stores.push(leaving(await openMemoryStore({ clock })));
  }
  const members = await admitted(membersOf(stores.map(({ store }) => store)));
  const meter = new RangeMeter(randomness);
  const common = { members, clock, timers, randomness, meter };
  const store = await openPartitionedStore(common);
  const catalogue = new Catalogue(members.home);
  const operations = operationsOver(members, clock);
  const balancerOf = (mode: BalancerMode) =>
    new Balancer({
      ...common,
      mode,
      catalogue,
      operations,
      policy: given,
      onTrouble: (error) => troubles.push(error),
    });
  const troubles: unknown[] = [];
  const atRest = async () => {
    // What a plan has begun has its row by then.
    for (let turns = 0; turns < 20; turns += 1) await turn();
    while ((await catalogue.operations()).length > 0) await turn();
  };
  /** The calls of one plan's time, then a plan. */
  const round = async (balancer: Balancer, keyOf: (count: number) => number) => {
    for (let second = 0; second < 15; second += 5) {
      for (let call = 0; call < 5 * 60; call += 1) await store.get(keyAt(keyOf(call)));
      clock.advanceMicros(5_000_000);
      await balancer.publish();
    }
    await balancer.round();
    await atRest();
  };
  return { clock, stores, store, catalogue, operations, balancerOf, atRest, round, troubles };
}

function prefixAt(partition: number) {
  const name = `p${String(partition % partitions).padStart(2, '0')}`;
  return partitionPrefix('tables', 'account', 2, name);
}

function keyAt(partition: number) {
  return appendString(prefixAt(partition), 'row');
}

void describe('the balancer of a store', () => {
  void it('spreads a busy range over the stores, and keeps what is there', costly(), async () => {
    const { store, catalogue, balancerOf, round } = await world(4);
    for (let count = 0; count < partitions; count += 1) {
      const put = { key: keyAt(count), value: Buffer.from([count]) };
      await store.commit({ checks: [], puts: [put], deletes: [] });
    }
    const balancer = balancerOf('on');
    // The first plan has no measures of the ranges yet.
    for (let count = 0; count < 8; count += 1) await round(balancer, (call) => call * 7);
    const { ranges } = await catalogue.map();
    assert.equal(new Set(ranges.map((range) => range.store)).size, 4);
    for (let count = 0; count < partitions; count += 1) {
      assert.deepEqual((await store.get(keyAt(count)))?.value, Buffer.from([count]));
    }
    await store.close();
  });

  void it('only tells what it would do unless it is on, and names a hot partition', async () => {
    const { store, catalogue, balancerOf, round } = await world(2);
    const balancer = balancerOf('advise');
    await round(balancer, (call) => call * 7);
    await round(balancer, (call) => call * 7);
    const { operations } = await balancer.advice();
    assert.deepEqual(
      operations.map(({ kind }) => kind),
      ['split'],
    );
    await round(balancer, () => 5);
    const { findings } = await balancer.advice();
    assert.deepEqual(
      findings.map(({ kind }) => kind),
      ['hot partition'],
    );
    assert.equal((await catalogue.map()).ranges.length, 1);
    await store.close();
  });

  void it('plans in one process, and in another when that has fallen silent', async () => {
    const { store, catalogue, balancerOf, atRest, round } = await world(2);
    const [first, second] = [balancerOf('on'), balancerOf('on')];
    await first.round();
    // The second has the measures, and does not plan.
    for (let count = 0; count < 2; count += 1) {
      await round(second, (call) => call * 7);
      await first.round();
      await atRest();
    }
    assert.ok((await catalogue.map()).ranges.length > 1, 'the first plans with all measures');
    const { length } = (await catalogue.map()).ranges;
    await round(second, (call) => call * 7);
    assert.equal((await catalogue.map()).ranges.length, length);
    for (let count = 0; count < 6; count += 1) await round(second, (call) => call * 7);
    assert.ok((await catalogue.map()).ranges.length > length, 'the second goes on');
    await store.close();
  });

  void it('ends an operation whose process is gone, also when it is off', async () => {
    const { clock, store, catalogue, operations, balancerOf, atRest } = await world(2);
    const [range] = (await catalogue.map()).ranges;
    assert.ok(range !== undefined);
    const begun = await operations.beginMove(range.id, 's1');
    assert.ok(begun.ok);
    const balancer = balancerOf('off');
    await balancer.round();
    await turn();
    assert.equal((await catalogue.operations()).length, 1, 'its lease is not over');
    clock.advanceMicros(20_000_000);
    await balancer.round();
    await atRest();
    assert.equal((await catalogue.map()).ranges[0]?.store, 's1');
    await store.close();
  });

  void it('plans a split for size on its first look, and says what loads still need', async () => {
    const { clock, store, balancerOf } = await world(2, { ...policy, splitBytes: 64 });
    for (let count = 0; count < partitions; count += 1) {
      const put = { key: keyAt(count), value: Buffer.alloc(16) };
      await store.commit({ checks: [], puts: [put], deletes: [] });
    }
    const balancer = balancerOf('off');
    const first = await balancer.advice();
    assert.deepEqual(
      first.operations.map((each) => each.kind === 'split' && each.why),
      ['size'],
    );
    assert.deepEqual([first.measuredMs, first.neededMs], [0, policy.settleMs]);
    clock.advanceMicros(1_000 * policy.settleMs);
    assert.equal((await balancer.advice()).measuredMs, policy.settleMs);
    await store.close();
  });

  void it('waits no longer than a second for the size of a range, and has it later', async (t) => {
    const timers = manualTimers();
    const { stores, store, balancerOf } = await world(2, { ...policy, splitBytes: 64 }, timers);
    for (let count = 0; count < partitions; count += 1) {
      const put = { key: keyAt(count), value: Buffer.alloc(16) };
      await store.commit({ checks: [], puts: [put], deletes: [] });
    }
    const home = stores[0]?.store;
    assert.ok(home !== undefined);
    const { promise: isMeasured, resolve: measured } = deferred();
    const sample = home.sample.bind(home);
    const mocked = t.mock.method(home, 'sample', async (...given: Parameters<typeof sample>) => {
      await isMeasured;
      return sample(...given);
    });
    const balancer = balancerOf('off');
    for (let plans = 0; plans < 2; plans += 1) {
      const early = balancer.advice();
      while (timers.delays.filter((delay) => delay === 1_000).length <= plans) await turn();
      timers.fire(1_000);
      const { operations, unsized } = await early;
      assert.deepEqual([operations, unsized], [[], 1]);
    }
    assert.equal(mocked.mock.callCount(), 1);
    measured();
    const late = await balancer.advice();
    assert.deepEqual(
      late.operations.map((each) => each.kind === 'split' && each.why),
      ['size'],
    );
    assert.equal(late.unsized, 0);
    await store.close();
  });

  void it('gives a store that is away no range, and sizes the ranges of the others', async () => {
    const { stores, store, catalogue, operations, balancerOf, round, troubles } = await world(3);
    for (let count = 0; count < partitions; count += 1) {
      const put = { key: keyAt(count), value: Buffer.alloc(16) };
      await store.commit({ checks: [], puts: [put], deletes: [] });
    }
    const [first] = (await catalogue.map()).ranges;
    assert.ok(first !== undefined);
    for (const begin of [
      () => operations.beginSplit(first.id, prefixAt(16)),
      async () => operations.beginMove((await catalogue.map()).at(keyAt(0)).id, 's1'),
    ]) {
      const begun = await begin();
      assert.ok(begun.ok);
      await operations.carryOut(begun.operation);
    }
    const [gone, other] = (await catalogue.map()).ranges;
    assert.ok(gone?.store === 's1' && other?.store === 's0');
    const lost = stores[1]?.state;
    assert.ok(lost !== undefined);
    lost.isAway = true;
    const balancer = balancerOf('advise');
    for (let count = 0; count < 4; count += 1) await round(balancer, (call) => 16 + (call % 16));
    const advice = await balancer.advice();
    assert.deepEqual([...advice.away], ['s1']);
    assert.ok(advice.sizeOf(other.id) !== undefined, 'the first range does not stall the second');
    assert.ok(advice.operations.length > 0, 'there is a plan');
    for (const each of advice.operations) {
      if (each.kind === 'move') assert.equal(each.target, 's2');
      if (each.kind !== 'merge') assert.notEqual(each.range, gone.id);
    }
    lost.isAway = false;
    lost.failsSamples = true;
    await balancer.advice();
    assert.equal(troubles.length, 1, 'what cannot be sized is told, and does not end the plan');
    await store.close();
  });

  const hangs = { timeout: 60_000 };
  void it('sizes other ranges when a store falls silent that is measured', hangs, async (t) => {
    await hurried(t.signal, async (timers) => {
      const { stores, catalogue, operations, balancerOf, troubles } = await world(
        2,
        policy,
        timers,
      );
      const [first] = (await catalogue.map()).ranges;
      const begun = await operations.beginSplit(first?.id ?? 0, prefixAt(16));
      assert.ok(begun.ok);
      await operations.carryOut(begun.operation);
      const [silent, other] = (await catalogue.map()).ranges;
      const moved = await operations.beginMove(other?.id ?? 0, 's1');
      assert.ok(moved.ok);
      await operations.carryOut(moved.operation);
      const home = stores[0]?.store;
      assert.ok(home !== undefined);
      t.mock.method(home, 'sample', () => new Promise(() => undefined));
      const balancer = balancerOf('advise');
      let advice = await balancer.advice();
      while (troubles.length === 0) advice = await balancer.advice();
      assert.match(String(troubles), /'s0' has been silent for 10 seconds/);
      advice = await balancer.advice();
      assert.equal(advice.sizeOf(silent?.id ?? 0), undefined);
      assert.notEqual(advice.sizeOf(other?.id ?? 0), undefined);
    });
  });

  void it('gives no range to a store that another process has removed', async () => {
    const { stores, store, balancerOf, round } = await world(2);
    const balancer = balancerOf('on');
    // As another process has it, which knows that the store is empty.
    assert.ok(await removeMember(membersOf(stores.map((each) => each.store)), 's1', holdingTimers));
    for (let count = 0; count < 4; count += 1) await round(balancer, (call) => call * 7);
    const { map, idleReasons } = await balancer.advice();
    assert.ok(map.ranges.length > 1);
    assert.deepEqual(
      idleReasons.map(({ kind }) => kind),
      ['no other store'],
    );
    const removed = stores[1]?.state;
    assert.ok(removed !== undefined);
    removed.isAway = true;
    assert.deepEqual([...(await balancer.advice()).away], []);
    removed.isAway = false;
    await store.close();
  });
});
