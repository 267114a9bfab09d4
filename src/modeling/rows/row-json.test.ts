import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { DecodeError } from './model-error.js';
import type { Row, WireValue } from './row.js';
import { rowFromJson, rowToJson } from './row-json.js';
import { storableTicksMin, ticksMax } from './ticks.js';

const plain = { noNullPrototype: true };

function valueOf<T extends WireValue['type'], V>(type: T, value: fc.Arbitrary<V>) {
  return fc.record({ type: fc.constant(type), value }, plain);
}

const anyValue: fc.Arbitrary<WireValue> = fc.oneof(
  valueOf('String', fc.string({ unit: 'binary' })),
  valueOf('Int32', fc.integer()),
  valueOf('Int64', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  valueOf('Double', fc.double()),
  valueOf('Boolean', fc.boolean()),
  valueOf('Guid', fc.uuid()),
  valueOf('Binary', fc.uint8Array()),
  valueOf('DateTime', fc.bigInt({ min: storableTicksMin, max: ticksMax })),
);

const anyRow: fc.Arbitrary<Row> = fc.record(
  {
    partitionKey: fc.string(),
    rowKey: fc.string(),
    properties: fc.dictionary(fc.string(), anyValue, plain),
  },
  plain,
);

describe('rows as JSON', () => {
  it('keep keys, names, types and values exactly', () => {
    fc.assert(
      fc.property(anyRow, (row) => {
        assert.deepEqual(rowFromJson(JSON.parse(JSON.stringify(rowToJson(row)))), row);
      }),
      { verbose: 1 },
    );
  });

  it('are refused when they are something else', () => {
    const faulty: unknown[] = [
      null,
      [],
      'text',
      { partitionKey: 'p', rowKey: 'r' },
      { partitionKey: 'p', rowKey: 1, properties: {} },
      ...[5, ['Int32', '5'], ['Int64', 5], ['Int64', '5.0'], ['Double', 'five'], ['Date', 'x']].map(
        (value) => ({ partitionKey: 'p', rowKey: 'r', properties: { name: value } }),
      ),
    ];
    for (const json of faulty) {
      assert.throws(() => rowFromJson(json), DecodeError, JSON.stringify(json));
    }
  });
});
