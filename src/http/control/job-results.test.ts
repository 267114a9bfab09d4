import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPartitionsInfo, isStarted, isVerifyResult } from './job-results.js';

const range = { range: 2, from: 'queue', to: '', store: 'home', epoch: 1, state: 'serving' };
const store = { store: 'home', state: 'active', location: '/a', ranges: 2, isHome: true };
const operation = { operation: 4, state: 'running', kind: 'move', ranges: [2], bytesCopied: 7 };
const list = { ranges: [{ ...range, keys: 4 }], stores: [store], operations: [operation] };

void describe('the result of a job', () => {
  void it('is known by its form', () => {
    assert.ok(isStarted({ operation: 4 }));
    assert.ok(isVerifyResult({ findings: [], repaired: ['what'] }));
    assert.ok(isPartitionsInfo(list));
  });

  void it('is refused in another form', () => {
    for (const wrong of [
      undefined,
      null,
      4,
      [],
      {},
      { operation: '4' },
      JSON.parse('{"__proto__":{"operation":4}}'),
    ]) {
      assert.ok(!isStarted(wrong), JSON.stringify(wrong));
    }
    for (const wrong of [
      { findings: [] },
      { findings: [4], repaired: [] },
      { findings: '', repaired: [] },
    ]) {
      assert.ok(!isVerifyResult(wrong), JSON.stringify(wrong));
    }
    const wrongLists = [
      { ...list, ranges: undefined },
      { ...list, ranges: [{ ...range, keys: '4' }] },
      { ...list, ranges: [{ ...range, epoch: undefined }] },
      { ...list, ranges: [{ ...range, state: 'lost' }] },
      { ...list, stores: [{ ...store, isHome: 'yes' }] },
      { ...list, operations: [{ ...operation, ranges: 2 }] },
      { ...list, operations: [{ ...operation, ranges: ['2'] }] },
    ];
    for (const wrong of wrongLists) assert.ok(!isPartitionsInfo(wrong), JSON.stringify(wrong));
  });
});
