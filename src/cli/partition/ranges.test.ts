import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OperationInfo } from '../../http/control/partitions.js';
import { leftText } from './ranges.js';

void describe('the command that cancels', () => {
  void it('says what is still to be done while the target of a move is away', () => {
    const about = { operation: 9, kind: 'move', ranges: [4], from: 'a', to: 'b' } as const;
    const running: OperationInfo = { ...about, state: 'running', step: 'cancel' };
    const text = leftText(running) ?? '';
    assert.match(text, /^Range 4 is served from a as before\. What was copied to b is not deleted/);
    assert.equal(leftText({ operation: 9, state: 'cancelled' }), undefined);
    assert.equal(leftText(undefined), undefined);
  });
});
