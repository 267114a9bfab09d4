import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planBalance, type BalanceInput, type RangeState } from './plan.js';
import { defaultBalancerPolicy as policy } from './policy.js';

/** Idle ranges with these calls a second, in the stores of these names. */
function input(loads: readonly (readonly [string, number])[], more: Partial<BalanceInput> = {}) {
  const ranges = loads.map(([store, callsPerSecond], id): RangeState => {
    const last = { kind: 'move', agoMs: policy.settleMs } as const;
    const load = { callsPerSecond, longCallsPerSecond: callsPerSecond, accessed: [] };
    return { id, store, ...load, bytes: 1, sizeCut: undefined, isBusy: false, last };
  });
  const stores = ['a', 'b'].map((name) => ({ name, takesRanges: true }));
  return { ranges, stores, running: 0, measuredMs: policy.quietMs, policy, ...more };
}

void describe('a plan without an operation', () => {
  const oneTaker = [
    { name: 'a', takesRanges: true },
    { name: 'b', takesRanges: false },
  ];
  const nine = Array.from({ length: 9 }, (_, at) => [at % 2 === 0 ? 'a' : 'b', 1] as const);
  const cases: readonly (readonly [string, BalanceInput, readonly object[]])[] = [
    [
      'there are as many operations as there may be',
      input([['a', 90]], { running: policy.operationsMax }),
      [{ kind: 'operations under way', running: policy.operationsMax }],
    ],
    [
      'no other store takes ranges',
      input([['a', 90]], { stores: oneTaker }),
      [{ kind: 'no other store' }],
    ],
    [
      'there is little load',
      input([
        ['a', 8],
        ['b', 4],
      ]),
      [{ kind: 'little load', mean: 6, meanMin: policy.busyCallsPerSecond }],
    ],
    [
      'stores share the load',
      input([
        ['a', 110],
        ['b', 90],
      ]),
      [{ kind: 'even load', difference: 0.2, differenceMax: policy.imbalance }],
    ],
    [
      'ranges that would move have moved just before',
      input([
        ['a', 60],
        ['a', 60],
      ]),
      [{ kind: 'no move helps', difference: 2, undoDelayMs: policy.undoDelayMs }],
    ],
    [
      'nobody knows yet which ranges are quiet',
      input(nine, { measuredMs: policy.quietMs - 1 }),
      [
        { kind: 'little load', mean: 4.5, meanMin: policy.busyCallsPerSecond },
        { kind: 'quiet unknown', quietMs: policy.quietMs, rangesMin: 8 },
      ],
    ],
    ['loads are not measured', input([['a', 90]], { measuredMs: policy.settleMs - 1 }), []],
  ];
  for (const [why, given, expected] of cases) {
    void it(`says so: ${why}`, () => {
      const { operations, idleReasons } = planBalance(given);
      assert.deepEqual(operations, []);
      assert.deepEqual(idleReasons, expected);
    });
  }

  void it('is told from one that has operations', () => {
    const quiet = nine.map(([, calls]) => ['a', calls] as const);
    const { operations, idleReasons } = planBalance(input(quiet));
    assert.ok(operations.length > 0);
    assert.deepEqual(idleReasons, []);
  });
});
