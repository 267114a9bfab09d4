import * as fc from 'fast-check';
import { dateTimeMax, dateTimeMin } from '../../src/model/edm/date-time.js';
import type { EdmValue, Property } from '../../src/model/edm/value.js';

/** Text of any UTF-16 code units: unpaired surrogates, quotes, controls. */
export const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: 'binary-ascii', maxLength: 80 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
    .map((units) => String.fromCharCode(...units)),
);

const fixedDoubles = [0, -0, 3, 1e21, 1e300, 5e-324, 1.797693134862315e308, 123_456_789.5, 1e15];

/** Values over the whole range of every type. */
export const wholeRangeValue: fc.Arbitrary<EdmValue> = fc.oneof(
  anyText.map((value) => ({ type: 'Edm.String' as const, value })),
  fc.integer().map((value) => ({ type: 'Edm.Int32' as const, value })),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map((value) => ({ type: 'Edm.Int64' as const, value })),
  fc
    .bigInt({ min: -(2n ** 53n) - 2n, max: 2n ** 53n + 2n })
    .map((value) => ({ type: 'Edm.Int64' as const, value })),
  fc
    .oneof(fc.double(), fc.constantFrom(...fixedDoubles))
    .map((value) => ({ type: 'Edm.Double' as const, value })),
  fc.boolean().map((value) => ({ type: 'Edm.Boolean' as const, value })),
  fc
    .bigInt({ min: dateTimeMin, max: dateTimeMax })
    .map((value) => ({ type: 'Edm.DateTime' as const, value })),
  fc.uuid().map((value) => ({ type: 'Edm.Guid' as const, value })),
  fc
    .uint8Array({ maxLength: 80 })
    .map((value) => ({ type: 'Edm.Binary' as const, value: Buffer.from(value) })),
);

const propertyName = fc.oneof(
  fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,30}$/),
  fc.constantFrom('__proto__', 'constructor', 'ß', '日本語', 'Ünïcode_1', 'x'.repeat(255)),
);

function isFree(name: string): boolean {
  return !['PartitionKey', 'RowKey', 'Timestamp'].includes(name) && !name.startsWith('odata.');
}

/** Properties with distinct names, as an entity may have them. */
export const anyProperties: fc.Arbitrary<Property[]> = fc.uniqueArray(
  fc.record(
    { name: propertyName.filter(isFree), value: wholeRangeValue },
    { noNullPrototype: true },
  ),
  { selector: ({ name }) => name, maxLength: 24 },
);
