import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageError } from '../../model/errors/storage-error.js';
import { effectiveMethod } from './request-target.js';

describe('X-HTTP-Method', () => {
  it('replaces POST, in any case', () => {
    assert.equal(effectiveMethod('POST', 'merge'), 'MERGE');
    assert.equal(effectiveMethod('POST', 'DELETE'), 'DELETE');
  });

  it('leaves the method alone when it is absent', () => {
    assert.equal(effectiveMethod('PUT', undefined), 'PUT');
  });

  for (const [method, override, code] of [
    ['POST', 'MERGE, MERGE', 'XMethodIncorrectCount'],
    ['PUT', 'MERGE', 'XMethodNotUsingPost'],
    ['POST', 'POST', 'XMethodIncorrectValue'],
    ['POST', '', 'XMethodIncorrectValue'],
  ] as const) {
    it(`${override || 'nothing'} on ${method} is ${code}`, () => {
      assert.throws(
        () => effectiveMethod(method, override),
        (error: unknown) => error instanceof StorageError && error.code === code,
      );
    });
  }
});
