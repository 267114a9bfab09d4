import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { operationBytes } from './request-size.js';

const characters = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\u0000', 'a', 'ü', '€', '😀', '\ud83d') }),
);

describe('the size of a request', () => {
  it('counts every text as JSON writes it', () => {
    const sizeOf = (value: string): number =>
      operationBytes({
        kind: 'insert',
        row: { partitionKey: 'p', rowKey: 'r', properties: { text: { type: 'String', value } } },
      });
    fc.assert(
      fc.property(characters, (text) => {
        const written = Buffer.byteLength(JSON.stringify(text));
        assert.equal(sizeOf(text) - sizeOf(''), written - 2);
      }),
      { numRuns: 2000 },
    );
  });
});
