import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { WireValue } from '../rows/row.js';
import type { RowWrite } from './gateway.js';
import { operationBytes, transactionBytes, transactionBytesBound } from './request-size.js';

const characters = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('"', '\\', '\n', '\u0000', 'a', 'ü', '€', '😀', '\ud83d') }),
);

const wireValues = fc.oneof(
  characters.map((value): WireValue => ({ type: 'String', value })),
  fc.uint8Array({ maxLength: 40 }).map((value): WireValue => ({ type: 'Binary', value })),
  fc.boolean().map((value): WireValue => ({ type: 'Boolean', value })),
  fc.integer().map((value): WireValue => ({ type: 'Int32', value })),
  fc.double().map((value): WireValue => ({ type: 'Double', value })),
  fc.uuid().map((value): WireValue => ({ type: 'Guid', value })),
);
const rows = fc.record({
  partitionKey: characters,
  rowKey: characters,
  properties: fc.dictionary(characters, wireValues, { maxKeys: 5 }),
});

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
      { numRuns: 400 },
    );
  });

  it('never exceeds its cheap bound', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 3 }), (some) => {
        const writes = some.flatMap((row): RowWrite[] => [
          { kind: 'insert', row },
          { kind: 'delete', key: row, etag: '*' },
        ]);
        const [bytes, bound] = [transactionBytes(writes), transactionBytesBound(writes)];
        assert.ok(bytes <= bound, `${bytes} bytes are more than the bound ${bound}`);
      }),
      { numRuns: 250 },
    );
  });
});
