import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BalanceInfo, OperationInfo } from '../../http/control/partitions.js';
import { measuredPlan, planLines } from './balance.js';
import { allCarriedOut } from './waiting.js';

const unmeasured: BalanceInfo = {
  operations: [],
  findings: [],
  notes: [],
  begun: [],
  away: [],
  measuredMs: 0,
  neededMs: 15_000,
  unsized: 0,
};

/** Gives out one plan after the other. */
function control(...plans: readonly BalanceInfo[]) {
  const asked: boolean[] = [];
  const balance = (dryRun: boolean) => {
    asked.push(dryRun);
    return Promise.resolve(plans[asked.length - 1] ?? unmeasured);
  };
  return { asked, balance };
}

void describe('the command that balances', () => {
  void it('waits until loads are measured, and begins nothing meanwhile', async () => {
    const measured = { ...unmeasured, measuredMs: 15_000, operations: ['move range 4 …'] };
    const asks = control(unmeasured, { ...unmeasured, measuredMs: 14_999 }, measured);
    assert.equal(await measuredPlan(asks), measured);
    assert.deepEqual(asks.asked, [true, true, true]);
  });

  void it('waits no longer when sizes alone call for an operation', async () => {
    const bySize = { ...unmeasured, operations: ['split range 2 at …'] };
    assert.equal(await measuredPlan(control(bySize)), bySize);
  });

  void it('says what a plan does not know, instead of that there is nothing to do', () => {
    assert.deepEqual(planLines({ ...unmeasured, measuredMs: 2_900, unsized: 2, away: ['b'] }), [
      'Nothing is planned yet.',
      'Loads are measured for 2 s, and the plan needs 15 s of them: what they call for is not in ' +
        'it. Ask again then.',
      'The sizes of 2 ranges are not known yet. Ask again.',
      'The store b does not answer: its ranges stay, and none moves there.',
    ]);
    const notes = ['Stores have 0.4 calls a second on the mean.'];
    assert.deepEqual(planLines({ ...unmeasured, notes, measuredMs: 15_000 }), [
      'There is nothing to do.',
      ...notes,
    ]);
  });

  void it('fails when an operation was cancelled or failed, once all are over', async () => {
    const asked: number[] = [];
    const ends: readonly OperationInfo[] = [
      { operation: 0, state: 'cancelled', problem: 'Writes were too fast.' },
      { operation: 1, state: 'failed', problem: 'The disk is full.' },
      { operation: 2, state: 'done' },
    ];
    const operation = (number: number) => {
      asked.push(number);
      return Promise.resolve(ends[number]);
    };
    await assert.rejects(allCarriedOut({ control: { operation }, doesWork: false }, [0, 1, 2]), {
      name: 'CommandFailure',
      lines: [
        'Operation 0 was cancelled. Writes were too fast.',
        'Operation 1 failed: The disk is full.',
      ],
    });
    assert.deepEqual(asked, [0, 1, 2]);
    await allCarriedOut({ control: { operation }, doesWork: false }, [2]);
  });
});
