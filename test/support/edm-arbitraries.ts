import * as fc from 'fast-check';
import type { ComparisonOperator, Filter } from '../../src/model/edm/filter.js';
import type { EdmType, EdmValue } from '../../src/model/edm/value.js';

export const operators: readonly ComparisonOperator[] = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];

export const operator = fc.constantFrom(...operators);

/** Text of few characters, including some that UTF-8 and UTF-16 order differently. */
export const trickyText = fc
  .array(fc.constantFrom('a', 'b', 'B', '"', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\ud83d'), {
    maxLength: 4,
  })
  .map((parts) => parts.join(''));

const guids = [
  '00000000-0000-0000-0000-000000000000',
  'c9da6455-213d-42c9-9a79-3e9149a57833',
  'c9da6455-213d-42c9-9a79-3e9149a57834',
  'ffffffff-0000-0000-0000-000000000000',
];
const int64s = [-(2n ** 63n), -(2n ** 32n), -1n, 0n, 3n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n - 1n];
const doubles = [NaN, -Infinity, -3.5, -0, 0, 3, 2 ** 53, Infinity];
const ticks = [504_911_232_000_000_000n, 638_000_000_000_000_001n, 3_155_378_975_999_999_999n];

/** Values of each type, few and close together, so that comparisons often meet equal ones. */
export const valuesByType: Readonly<Record<EdmType, fc.Arbitrary<EdmValue>>> = {
  'Edm.String': trickyText.map((value) => ({ type: 'Edm.String', value })),
  'Edm.Int32': fc
    .constantFrom(-(2 ** 31), -1, 0, 3, 2 ** 31 - 1)
    .map((value) => ({ type: 'Edm.Int32', value })),
  'Edm.Int64': fc.constantFrom(...int64s).map((value) => ({ type: 'Edm.Int64', value })),
  'Edm.Double': fc.constantFrom(...doubles).map((value) => ({ type: 'Edm.Double', value })),
  'Edm.Boolean': fc.boolean().map((value) => ({ type: 'Edm.Boolean', value })),
  'Edm.DateTime': fc.constantFrom(...ticks).map((value) => ({ type: 'Edm.DateTime', value })),
  'Edm.Guid': fc.constantFrom(...guids).map((value) => ({ type: 'Edm.Guid', value })),
  'Edm.Binary': fc
    .uint8Array({ maxLength: 3, max: 3 })
    .map((value) => ({ type: 'Edm.Binary', value })),
};

export const edmTypes: readonly EdmType[] = [
  'Edm.String',
  'Edm.Int32',
  'Edm.Int64',
  'Edm.Double',
  'Edm.Boolean',
  'Edm.DateTime',
  'Edm.Guid',
  'Edm.Binary',
];

export const anyValue: fc.Arbitrary<EdmValue> = fc.oneof(
  ...edmTypes.map((type) => valuesByType[type]),
);

/** Filters of a few levels over the given conditions. */
export function filterOver(conditions: fc.Arbitrary<Filter>): fc.Arbitrary<Filter> {
  const { filter } = fc.letrec<{ filter: Filter; group: Filter; negation: Filter }>((tie) => ({
    filter: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      conditions,
      tie('group'),
      tie('negation'),
    ),
    group: fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      operands: fc.array(tie('filter'), { minLength: 2, maxLength: 4 }),
    }),
    negation: fc.record({ kind: fc.constant('not' as const), operand: tie('filter') }),
  }));
  return filter;
}

export function comparison(
  property: fc.Arbitrary<string>,
  literal: fc.Arbitrary<EdmValue>,
): fc.Arbitrary<Filter> {
  return fc.record({ kind: fc.constant('comparison' as const), property, operator, literal });
}
