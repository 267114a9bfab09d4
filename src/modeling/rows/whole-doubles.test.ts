import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { findWholeDoubles, mayHoldWholeDoubles } from './whole-doubles.js';

/** Numbers in the forms that the service may write, and whether the client takes them for Int32. */
const numbers = fc.oneof(
  fc.integer().map((value) => ({ text: String(value), value, isWhole: false })),
  fc.integer().map((value) => ({ text: `${value}.0`, value, isWhole: true })),
  fc.nat(99).map((value) => ({ text: `${value}E+2`, value: value * 100, isWhole: true })),
  fc.constantFrom(
    { text: '-0.0', value: -0, isWhole: true },
    { text: '1.50e1', value: 15, isWhole: true },
    { text: '3.00', value: 3, isWhole: true },
    { text: '3.001', value: 3.001, isWhole: false },
    { text: '1E+21', value: 1e21, isWhole: false },
    { text: '2.5e-3', value: 0.0025, isWhole: false },
  ),
);
const names = fc.constantFrom('a', 'b', 'c1', 'ü', 'Manager_x0020_Rating', 'odata');
const texts = fc.oneof(
  fc.string(),
  fc.constantFrom('":3.0', '"a":3.0,', '\\', '\\"', '{"odata.etag":"x","a":1.0}', '"odata.etag":'),
);

const entity = fc.record({
  values: fc.dictionary(names, fc.oneof(numbers, texts), { noNullPrototype: true }),
  etag: texts,
});

function jsonOf({ values, etag }: { values: Record<string, unknown>; etag: string }): string {
  const members = Object.entries(values).map(([name, value]) => {
    const written =
      typeof value === 'string' ? JSON.stringify(value) : (value as { text: string }).text;
    return `"${name}":${written}`;
  });
  return `{${[`"odata.etag":${JSON.stringify(etag)}`, '"PartitionKey":"p:1.0"', ...members].join(',')}}`;
}

describe('whole Doubles', () => {
  it('are found in every entity of an answer, and nothing else is', () => {
    fc.assert(
      fc.property(fc.array(entity, { maxLength: 5 }), (entities) => {
        const json = `{"odata.metadata":"http://x/$metadata#t","value":[${entities.map(jsonOf).join(',')}]}`;
        assert.doesNotThrow(() => void JSON.parse(json));
        const found = findWholeDoubles(json);
        entities.forEach(({ values }, index) => {
          const expected = Object.entries(values).flatMap(([name, value]) =>
            typeof value === 'object' && value.isWhole ? [[name, value.value] as const] : [],
          );
          assert.deepEqual([...(found.get(index) ?? [])], expected);
          if (expected.length > 0) assert.equal(mayHoldWholeDoubles(json), true);
        });
        assert.ok([...found.keys()].every((index) => index >= 0 && index < entities.length));
      }),
      { numRuns: 400 },
    );
  });

  it('are not looked for where no number is written so', () => {
    assert.equal(mayHoldWholeDoubles('{"a":3,"b":3.25,"c":"3.0"}'), false);
    assert.equal(mayHoldWholeDoubles('{"a": 3.0}'), true);
  });
});
