import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeOutcomes, encodeOutcomes, type Outcome } from './outcomes.js';

const applied = (version: number): Outcome => ({ kind: 'result', result: { ok: true, version } });
const failed: Outcome = { kind: 'result', result: { ok: false, failedCheck: 1, actual: 'absent' } };

describe('the outcomes of a batch', () => {
  it('are read as they were written', () => {
    const batches: readonly (readonly Outcome[])[] = [
      [applied(7)],
      [applied(7), applied(8), applied(9)],
      [applied(7), failed, applied(9)],
      [failed, { kind: 'alone' }, { kind: 'no-counter' }],
      [applied(7), applied(9)],
    ];
    for (const batch of batches) assert.deepEqual(decodeOutcomes(encodeOutcomes(batch)), batch);
  });

  it('are two numbers when all were applied, however many there are', () => {
    const batch = Array.from({ length: 64 }, (_, at) => applied(1_000 + at));
    assert.equal(encodeOutcomes(batch).length, 16);
  });
});
