import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorBody } from '../../../test/support/scripted-postgres.js';
import { plainSeverityIn } from './error-severity.js';

function bodyOf(...fields: readonly string[]): Buffer {
  return Buffer.from(errorBody(fields));
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
