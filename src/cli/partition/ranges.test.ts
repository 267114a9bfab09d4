import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JobInfo, OperationInfo } from '../../http/control/partitions.js';
import { isStillUndone, leftText } from './ranges.js';

void describe('the command that cancels', () => {
  void it('says what is still to be done while the target of a move is away', () => {
    const about = { operation: 9, kind: 'move', ranges: [4], from: 'a', to: 'b' } as const;
    const running: OperationInfo = { ...about, state: 'running', step: 'cancel' };
    const text = leftText(running) ?? '';
    assert.match(text, /^Range 4 is served from a as before\. What was copied to b is not deleted/);
    assert.equal(leftText({ operation: 9, state: 'cancelled' }), undefined);
    assert.equal(leftText(undefined), undefined);
  });

  void it('does not wait for what is deleted once the operation is marked as cancelled', async () => {
    const after = (states: readonly JobInfo['state'][], steps: readonly string[]) => {
      let asked = 0;
      const about = { operation: 9, state: 'running', kind: 'move' } as const;
      return {
        operation: () => Promise.resolve({ ...about, step: steps[asked] ?? 'cancel' }),
        job: () => {
          asked += 1;
          const state = states[asked - 1] ?? 'running';
          return Promise.resolve({ job: 7, state, done: 0, unit: 'keys' });
        },
      };
    };
    const asked = { job: 7, operation: 9 };
    assert.equal(await isStillUndone(after([], ['copy', 'copy']), asked), true);
    assert.equal(await isStillUndone(after(['running', 'done'], ['copy', 'copy']), asked), false);
    assert.equal(await isStillUndone(after(['done'], ['cancel']), asked), false);
  });
});
