import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { systemRandomness } from '../../base/randomness.js';
import { composeBatch, composeQueryBatch, type ComposedOperation } from './compose.js';
import { parseBatch } from './parse-batch.js';

const targets = fc.webUrl({ withQueryParameters: true }).filter((url) => !url.includes(' '));

const headerNames = fc.constantFrom('accept', 'content-id', 'content-type', 'if-match', 'prefer');

/** Visible ASCII: what an HTTP header can carry on every path. */
const headerValues = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/);

const headers = fc
  .dictionary(headerNames, headerValues, { noNullPrototype: true })
  .map((fields) => Object.entries(fields));

const operations: fc.Arbitrary<ComposedOperation> = fc.record({
  method: fc.constantFrom('POST', 'PUT', 'MERGE', 'PATCH', 'DELETE'),
  target: targets,
  headers,
  body: fc.oneof(fc.constant(''), fc.json()),
});

/** The parts of an operation that a server must receive. */
function seen({ method, target, headers, body = '' }: ComposedOperation) {
  const fields = new Map(headers);
  return [
    method,
    target,
    body,
    fields.get('accept'),
    fields.get('if-match'),
    fields.get('content-id'),
  ];
}

describe('composeBatch', () => {
  it('makes what parseBatch reads', () => {
    const changesets = fc.array(operations, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(changesets, (sent) => {
        const { body, contentType } = composeBatch(sent, systemRandomness);
        const batch = parseBatch(body, contentType);
        assert.ok(batch.kind === 'changeset');
        const received = batch.operations.map((operation) => [
          operation.method,
          operation.target,
          operation.text(),
          operation.headers.get('accept'),
          operation.headers.get('if-match'),
          operation.contentId,
        ]);
        assert.deepEqual(received, sent.map(seen));
      }),
    );
  });

  it('makes a query of its own', () => {
    const query = { target: '/t()', headers: [['Accept', 'application/json']] } as const;
    const { body, contentType } = composeQueryBatch(query, systemRandomness);
    const batch = parseBatch(body, contentType);
    assert.ok(batch.kind === 'query');
    assert.equal(batch.operation.target, '/t()');
    assert.equal(batch.operation.headers.get('accept'), 'application/json');
  });
});
