import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { compareBytes } from '../../base/bytes.js';
import { BalancedModel, type ModelPartition } from '../../../test/partition/balanced-model.js';
import { MovingTail } from '../../../test/partition/moving-tail.js';
import { byLength } from '../../../test/support/run-length.js';
import { cutByLoad } from './load-cut.js';
import { planBalance } from './plan.js';
import { defaultBalancerPolicy as policy } from './policy.js';

const partitions = fc.array(
  fc.record({
    calls: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 900 })),
    bytes: fc.oneof(fc.constant(1_000), fc.integer({ min: 0, max: 700 << 20 })),
  }),
  { minLength: 1, maxLength: 40 },
);

const setup = fc.record({
  partitions,
  stores: fc.integer({ min: 1, max: 5 }),
  drained: fc.integer({ min: 0, max: 9 }),
  layout: fc.array(fc.record({ at: fc.nat(39), store: fc.nat(4) }), { maxLength: 30 }),
});

/**
 * Rounds without an operation after which no operation can begin any more, because no delay is
 * longer.
 */
const quietRounds = Math.ceil(policy.undoDelayMs / BalancedModel.roundMs) + 2;

function evenly(count: number, each: number): readonly ModelPartition[] {
  return Array.from({ length: count }, () => ({ calls: each, bytes: 1_000 }));
}

void describe('the balancer', () => {
  void it('comes to an end under a constant load, and no state of ranges comes back', () => {
    fc.assert(
      fc.property(setup, ({ partitions, stores, drained, layout }) => {
        const model = new BalancedModel({ partitions, stores, layout, drained });
        const seen = new Set([model.state]);
        let quiet = 0;
        for (let rounds = 0; quiet < quietRounds; rounds += 1) {
          assert.ok(rounds < 5_000, 'it does not end');
          const { operations } = model.plan();
          quiet = operations.length === 0 ? quiet + 1 : 0;
          for (const operation of operations) {
            model.apply(operation);
            assert.ok(!seen.has(model.state), `it goes back to ${model.state}`);
            seen.add(model.state);
          }
          model.pass();
        }
      }),
      { numRuns: byLength({ short: 15, long: 300 }) },
    );
  });

  void it('stays within its bounds in every plan', () => {
    fc.assert(
      fc.property(setup, fc.nat(4), (given, running) => {
        const model = new BalancedModel(given);
        const { operations } = model.plan(running);
        assert.ok(operations.length <= Math.max(0, policy.operationsMax - running));
        const ranges = operations.flatMap((each) =>
          each.kind === 'merge' ? [each.left, each.right] : [each.range],
        );
        assert.equal(new Set(ranges).size, ranges.length, 'one operation a range');
        const moves = operations.flatMap((each) => (each.kind === 'move' ? [each] : []));
        const ends = moves.flatMap(({ source, target }) => [source, target]);
        assert.equal(new Set(ends).size, ends.length, 'one move a store');
        for (const { target } of moves) assert.ok(model.takers.includes(target));
        for (const operation of operations) model.apply(operation);
      }),
      { numRuns: byLength({ short: 100, long: 5_000 }) },
    );
  });

  void it('spreads a hot range of one of four stores within two minutes', () => {
    const model = new BalancedModel({ partitions: evenly(64, 50), stores: 4, layout: [] });
    for (let ms = 0; ms < 120_000; ms += BalancedModel.roundMs) {
      for (const operation of model.plan().operations) model.apply(operation);
      model.pass();
    }
    const loads = model.loads();
    assert.ok(Math.max(...loads) <= 2 * (3_200 / 4), `one store still has ${loads.join(' ')}`);
    assert.ok(Math.min(...loads) > 0, `a store has nothing: ${loads.join(' ')}`);
  });

  void it('tells of a hot partition, and does not split its range for ever', () => {
    const hot = [...evenly(10, 1), { calls: 5_000, bytes: 1 }, ...evenly(10, 1)];
    const model = new BalancedModel({ partitions: hot, stores: 2, layout: [] });
    const kinds = new Set<string>();
    for (let rounds = 0; rounds < 200; rounds += 1) {
      const { operations, findings } = model.plan();
      for (const operation of operations) model.apply(operation);
      for (const { kind, advice } of findings) {
        kinds.add(kind);
        assert.match(advice, /PartitionKey/);
      }
      model.pass();
    }
    assert.ok(model.rangeCount <= 4, `${model.rangeCount} ranges`);
    assert.deepEqual([...kinds], ['hot partition']);
  });

  void it('reports keys that only grow, and does not split their range for ever', () => {
    // New partitions between two plans, in tenths: few of them, or many.
    const tenths = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 4_000 }));
    fc.assert(
      fc.property(tenths, fc.nat(40), (eachRound, from) => {
        const kinds = new Set<string>();
        const tail = new MovingTail({ stores: 3, from, eachRound: eachRound / 10 });
        for (let rounds = 0; rounds < 200; rounds += 1) {
          const { operations, findings } = tail.plan();
          for (const operation of operations) tail.apply(operation);
          for (const { kind } of findings) kinds.add(kind);
          tail.pass();
        }
        assert.equal(tail.splits, 0);
        assert.equal(tail.rangeCount, 1);
        assert.ok(kinds.size > 0, 'somebody is told');
        if (eachRound >= 20) assert.deepEqual([...kinds], ['rising keys']);
      }),
      { numRuns: byLength({ short: 15, long: 300 }) },
    );
  });

  void it('cuts out a partition of great size, and tells of it', () => {
    const large = [...evenly(4, 0), { calls: 0, bytes: 3 * 2 ** 30 }, ...evenly(4, 0)];
    const model = new BalancedModel({ partitions: large, stores: 2, layout: [] });
    for (let rounds = 0; rounds < 100; rounds += 1) {
      for (const operation of model.plan().operations) model.apply(operation);
      model.pass();
    }
    const { findings, operations } = model.plan();
    assert.deepEqual(
      findings.map(({ kind }) => kind),
      ['large partition'],
    );
    assert.deepEqual(operations, []);
  });

  void it('splits a range that is too large also while one partition has its load', () => {
    const sizeCut = Buffer.from('middle');
    const range = {
      id: 7,
      store: 'first',
      callsPerSecond: 900,
      longCallsPerSecond: 900,
      bytes: 8 * 2 ** 30,
      sizeCut,
      accessed: Array.from({ length: 100 }, () => Buffer.from('hot')),
      isBusy: false,
      last: undefined,
    };
    const stores = [{ name: 'first', takesRanges: true }];
    const input = { stores, running: 0, measuredMs: policy.quietMs, policy };
    const { operations, findings } = planBalance({ ...input, ranges: [range] });
    assert.deepEqual(operations, [{ kind: 'split', range: 7, at: sizeCut, why: 'size' }]);
    assert.deepEqual(
      findings.map(({ kind }) => kind),
      ['hot partition'],
    );
    const small = planBalance({ ...input, ranges: [{ ...range, bytes: 1_000 }] });
    assert.deepEqual(small.operations, []);
  });

  void it('keeps the ranges of a load that is spread between its bounds', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 5 }),
        fc.integer({ min: 10, max: 120 }),
        (stores, each) => {
          const model = new BalancedModel({ partitions: evenly(64, each), stores, layout: [] });
          for (let rounds = 0; rounds < 300; rounds += 1) {
            for (const operation of model.plan().operations) model.apply(operation);
            model.pass();
          }
          const { rangesEachStore, splitCallsPerSecond } = policy;
          assert.ok(model.rangeCount >= stores * rangesEachStore, `${model.rangeCount} ranges`);
          // Beyond 10 for each store only where the load of a range demands it.
          const demanded = 4 * Math.ceil((64 * each) / splitCallsPerSecond);
          const most = Math.max(10 * stores, demanded);
          assert.ok(model.rangeCount <= most, `${model.rangeCount} ranges over ${stores} stores`);
        },
      ),
      { numRuns: byLength({ short: 2, long: 30 }) },
    );
  });

  void it('merges nothing before loads were measured for a while', () => {
    const layout = Array.from({ length: 20 }, (_, at) => ({ at, store: 0 }));
    const young = new BalancedModel({ partitions: evenly(20, 0), stores: 1, layout });
    young.measuredMs = policy.quietMs - 1;
    assert.deepEqual(young.plan().operations, []);
    young.measuredMs = policy.quietMs;
    assert.equal(young.plan().operations[0]?.kind, 'merge');
  });
});

void describe('a cut by load', () => {
  const key = (text: string) => Buffer.from(text);
  const drawn = (text: string) => text.split('').map(key);

  void it('leaves load on both sides', () => {
    const cut = cutByLoad(drawn('acbdacbdbdacacdbacbdacdb'));
    assert.equal(cut.kind, 'cut');
    if (cut.kind !== 'cut') return;
    assert.equal(compareBytes(cut.at, key('c')), 0);
    assert.equal(cut.leftShare, 0.5);
  });

  void it('says what stands in the way', () => {
    assert.equal(cutByLoad(drawn('aaaaabaaaaaaaaaaaaaacaaaa')).kind, 'hot');
    assert.equal(cutByLoad(drawn('abcdefghijklmnopqrstuvwxyz')).kind, 'rising');
    assert.equal(cutByLoad(drawn('aaaaaaaabbbbbbbbcccccccc')).kind, 'rising');
    assert.equal(cutByLoad(drawn('abab')).kind, 'unknown');
  });
});
