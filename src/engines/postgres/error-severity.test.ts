import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plainSeverityIn } from './error-severity.js';

/** The body of an error, from its fields with their types. */
function bodyOf(...fields: readonly string[]): Buffer {
  return Buffer.from([...fields, ''].map((field) => `${field}\0`).join(''));
}

describe('the severity in the body of an error', () => {
  it('is that of its own field, and no text of another one', () => {
    assert.equal(plainSeverityIn(bodyOf('SERROR', 'MVPANIC', 'VERROR')), 'ERROR');
    assert.equal(plainSeverityIn(bodyOf('SERROR', 'MVPANIC')), undefined);
  });

  it('is not told by a body that is cut off', () => {
    const whole = bodyOf('SERROR', 'VPANIC');
    const known = 'SERROR\0VPANIC\0'.length;
    for (let bytes = 0; bytes <= whole.length; bytes += 1) {
      const expected = bytes < known ? undefined : 'PANIC';
      assert.equal(plainSeverityIn(whole.subarray(0, bytes)), expected, `${bytes} bytes`);
    }
  });
});
