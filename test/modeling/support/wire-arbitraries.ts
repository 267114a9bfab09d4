import * as fc from 'fast-check';
import type { Row, WireType, WireValue } from '../../../src/modeling/rows/row.js';
import { storableTicksMin, ticksMax } from '../../../src/modeling/rows/ticks.js';

// Stored values of every type, including extremes, and rows of them.

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom('', ' ', '\u0000', '\r\n', '"\\', '😀', 'é'.repeat(700)),
);

export const wireValues: Readonly<Record<WireType, fc.Arbitrary<WireValue>>> = {
  String: text.map((value) => ({ type: 'String', value })),
  Int32: fc
    .oneof(fc.integer(), fc.constantFrom(-(2 ** 31), 0, 2 ** 31 - 1))
    .map((value) => ({ type: 'Int32', value })),
  Int64: fc
    .oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n))
    .map((value) => ({ type: 'Int64', value })),
  Double: fc
    .oneof(fc.double(), fc.constantFrom(NaN, Infinity, -Infinity, -0, 3, 5e-324, 1.7e308))
    .map((value) => ({ type: 'Double', value })),
  Boolean: fc.boolean().map((value) => ({ type: 'Boolean', value })),
  Guid: fc.uuid().map((value) => ({ type: 'Guid', value })),
  Binary: fc.uint8Array({ maxLength: 200 }).map((value) => ({ type: 'Binary', value })),
  DateTime: fc
    .oneof(fc.bigInt(storableTicksMin, ticksMax), fc.constantFrom(storableTicksMin, ticksMax))
    .map((value) => ({ type: 'DateTime', value })),
};

export const wireTypes = Object.keys(wireValues) as WireType[];

export const anyWireValue: fc.Arbitrary<WireValue> = fc.oneof(...Object.values(wireValues));

export const anyKeyText = fc
  .string({ unit: 'grapheme', maxLength: 30 })
  .map((given) => given.replaceAll(/[/\\#?\p{Cc}]/gu, '_'));

export const anyRow: fc.Arbitrary<Row> = fc.record({
  partitionKey: anyKeyText,
  rowKey: anyKeyText,
  properties: fc
    .array(anyWireValue, { maxLength: 8 })
    .map((values) => Object.fromEntries(values.map((value, index) => [`p${index}`, value]))),
});
