import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  anyValue,
  comparison,
  edmTypes,
  filterOver,
  operators,
  trickyText,
  valuesByType,
} from '../../../test/support/edm-arbitraries.js';
import { matches, type PlainRow } from '../../../test/support/filter-oracle.js';
import { encodeBag } from '../../model/bag/bag.js';
import { ticksOfVersion } from '../../model/edm/date-time.js';
import type { Filter } from '../../model/edm/filter.js';
import type { EdmValue } from '../../model/edm/value.js';
import { compilePredicate } from './predicate.js';

const version = 1_700_000_000_000_001;

function test(filter: Filter, row: PlainRow): boolean {
  const bag = encodeBag(row.properties);
  return compilePredicate(filter).test(row.partitionKey, row.rowKey, row.version, bag);
}

function rowWith(...values: readonly EdmValue[]): PlainRow {
  const properties = values.map((value, index) => ({ name: `P${index}`, value }));
  return { partitionKey: 'pk', rowKey: 'rk', version, properties };
}

function text(value: string): EdmValue {
  return { type: 'Edm.String', value };
}

describe('a predicate', () => {
  for (const stored of edmTypes) {
    for (const literal of edmTypes) {
      it(`compares a stored ${stored} with a literal ${literal} as the rules say`, () => {
        fc.assert(
          fc.property(valuesByType[stored], valuesByType[literal], (value, against) => {
            const row = rowWith(value);
            for (const operator of operators) {
              const filter = { kind: 'comparison', property: 'P0', operator, literal: against };
              assert.equal(test(filter as Filter, row), matches(filter as Filter, row), operator);
            }
          }),
          { numRuns: 60 },
        );
      });
    }
  }

  it('agrees with the rules on nested filters and missing properties', () => {
    const names = fc.constantFrom('P0', 'P1', 'P2', 'PartitionKey', 'RowKey', 'Timestamp', 'Gone');
    const condition: fc.Arbitrary<Filter> = fc.oneof(
      comparison(names, anyValue),
      names.map((property) => ({ kind: 'property' as const, property })),
      fc.boolean().map((value) => ({ kind: 'constant' as const, value })),
    );
    fc.assert(
      fc.property(filterOver(condition), fc.array(anyValue, { maxLength: 3 }), (filter, values) => {
        const row = rowWith(...values);
        assert.equal(test(filter, row), matches(filter, row));
      }),
      { numRuns: 250 },
    );
  });

  it('agrees with the rules where one property is compared with many values', () => {
    const names = fc.constantFrom('P0', 'P1', 'PartitionKey', 'RowKey', 'Gone');
    const compared = (operator: 'eq' | 'ne') =>
      fc.record({
        kind: fc.constant('comparison' as const),
        property: names,
        operator: fc.constant(operator),
        literal: anyValue,
      });
    const list = (operator: 'eq' | 'ne', kind: 'and' | 'or') =>
      fc.record({
        kind: fc.constant(kind),
        operands: fc.array(compared(operator), { minLength: 6, maxLength: 40 }),
      });
    const lists = fc.oneof(list('eq', 'or'), list('ne', 'and'));
    const stored = fc.array(anyValue, { minLength: 1, maxLength: 2 });
    fc.assert(
      fc.property(lists, stored, fc.nat(), fc.boolean(), (filter, values, place, isHit) => {
        const row = rowWith(...values);
        const operand = filter.operands[place % filter.operands.length];
        // Makes half of the rows match, which random values would hardly do.
        const hit = isHit && operand !== undefined ? rowWith(operand.literal) : row;
        assert.equal(test(filter, hit), matches(filter, hit));
      }),
      { numRuns: 250 },
    );
  });

  it('finds a number among many values, whatever types both have', () => {
    const numbers: readonly ((value: number) => EdmValue)[] = [
      (value) => ({ type: 'Edm.Int32', value }),
      (value) => ({ type: 'Edm.Int64', value: BigInt(value) }),
      (value) => ({ type: 'Edm.Double', value }),
    ];
    for (const literalOf of numbers) {
      const operands = Array.from({ length: 40 }, (_, value) => ({
        ...({ kind: 'comparison', property: 'P0', operator: 'eq' } as const),
        literal: literalOf(value),
      }));
      const filter: Filter = { kind: 'or', operands };
      for (const storedOf of numbers) {
        for (const value of [7, 99]) {
          const row = rowWith(storedOf(value));
          const { type } = storedOf(value);
          assert.equal(test(filter, row), matches(filter, row), `${value} as ${type}`);
        }
      }
    }
  });

  it('finds a key among many values, and takes neither key for the other', () => {
    for (const property of ['PartitionKey', 'RowKey']) {
      for (const [operator, kind] of [
        ['eq', 'or'],
        ['ne', 'and'],
      ] as const) {
        const operands = Array.from({ length: 40 }, (_, value) => ({
          ...({ kind: 'comparison', property, operator } as const),
          literal: text(`k${value}`),
        }));
        const filter: Filter = { kind, operands };
        for (const keys of [
          { partitionKey: 'k7', rowKey: 'other' },
          { partitionKey: 'other', rowKey: 'k7' },
        ]) {
          const row = { ...rowWith(), ...keys };
          const among = (property === 'RowKey') === (keys.rowKey === 'k7');
          assert.equal(test(filter, row), among === (operator === 'eq'));
        }
      }
    }
  });

  it('agrees with the rules where more names are compared than are looked for one by one', () => {
    const names = fc.nat({ max: 45 }).map((place) => `P${place}`);
    const filters = fc.array(comparison(names, anyValue), { minLength: 30, maxLength: 90 });
    fc.assert(
      fc.property(filters, fc.array(anyValue, { maxLength: 10 }), (operands, values) => {
        const row = rowWith(...values);
        const filter: Filter = { kind: 'or', operands };
        assert.equal(test(filter, row), matches(filter, row));
      }),
      { numRuns: 166 },
    );
  });

  it('agrees with the rules from row to row where parts of a filter are equal', () => {
    const part: Filter = {
      kind: 'and',
      operands: [
        { kind: 'property', property: 'P0' },
        { kind: 'comparison', property: 'P1', operator: 'gt', literal: text('k') },
      ],
    };
    const filter: Filter = {
      kind: 'or',
      operands: [
        {
          kind: 'and',
          operands: [
            { kind: 'not', operand: part },
            { kind: 'property', property: 'P2' },
          ],
        },
        part,
      ],
    };
    const { test: testRow } = compilePredicate(filter);
    const rows = fc.tuple(fc.boolean(), fc.constantFrom('a', 'k', 'z'), fc.boolean());
    fc.assert(
      fc.property(fc.array(rows, { minLength: 1, maxLength: 20 }), (many) => {
        for (const [first, second, third] of many) {
          const row = rowWith({ type: 'Edm.Boolean', value: first }, text(second), {
            type: 'Edm.Boolean',
            value: third,
          });
          const bag = encodeBag(row.properties);
          assert.equal(testRow('pk', 'rk', version, bag), matches(filter, row));
        }
      }),
    );
  });

  it('weighs a thousand values of one property like one', () => {
    const compared = (operator: 'eq' | 'lt', value: string): Filter => {
      return { kind: 'comparison', property: 'P0', operator, literal: text(value) };
    };
    const places = Array.from({ length: 1_000 }, (_, place) => place);
    const weightOf = (operands: readonly Filter[]): number =>
      compilePredicate({ kind: 'or', operands }).weight;
    const { weight } = compilePredicate(compared('eq', 'v'));
    assert.equal(weightOf(places.map((place) => compared('eq', `v${place}`))), weight);
    assert.equal(weightOf(places.map(() => compared('lt', 'v'))), weight);
    assert.ok(weightOf(places.map((place) => compared('lt', `v${place}`))) > 1_000);
  });

  it('orders a long stored text by no more of it than decides', () => {
    const long = `${'a\n'.repeat(10_000)}😀${'\n'.repeat(2_000)}`;
    for (const literal of ['a\r', 'a\n\ue000', `${'a\n'.repeat(10_000)}\ue000`, long, `${long}x`]) {
      for (const operator of operators) {
        const filter: Filter = {
          kind: 'comparison',
          property: 'P0',
          operator,
          literal: text(literal),
        };
        const row = rowWith(text(long));
        assert.equal(test(filter, row), matches(filter, row), operator);
      }
    }
  });

  it('orders strings by UTF-16 code unit although they are stored as UTF-8', () => {
    fc.assert(
      fc.property(trickyText, trickyText, (left, right) => {
        const less: Filter = {
          kind: 'comparison',
          property: 'P0',
          operator: 'lt',
          literal: text(right),
        };
        assert.equal(test(less, rowWith(text(left))), left < right);
      }),
      { numRuns: 250 },
    );
    const pair: Filter = {
      kind: 'comparison',
      property: 'P0',
      operator: 'lt',
      literal: text('\ue000'),
    };
    assert.equal(test(pair, rowWith(text('😀'))), true);
  });

  it('compares Timestamp with the instant that the version is shown as, to 100 ns', () => {
    const instant = ticksOfVersion(version);
    const holds = (operator: 'eq' | 'lt' | 'gt', value: bigint) =>
      test(
        {
          kind: 'comparison',
          property: 'Timestamp',
          operator,
          literal: { type: 'Edm.DateTime', value },
        },
        rowWith(),
      );
    assert.equal(holds('eq', instant), true);
    assert.equal(holds('eq', instant + 1n), false);
    assert.equal(holds('lt', instant + 1n), true);
    assert.equal(holds('gt', instant - 1n), true);
    assert.equal(holds('gt', instant + 1n), false);
    assert.equal(holds('lt', instant - 1n), false);
    assert.equal(holds('lt', instant), false);
    assert.equal(holds('gt', 504_911_232_000_000_000n), true);
  });

  it('asks for the keys only when the filter names one', () => {
    const other: Filter = { kind: 'property', property: 'P0' };
    const key: Filter = {
      kind: 'comparison',
      property: 'RowKey',
      operator: 'eq',
      literal: text('x'),
    };
    assert.equal(compilePredicate(other).readsKeys, false);
    assert.equal(compilePredicate({ kind: 'not', operand: key }).readsKeys, true);
    assert.equal(compilePredicate({ kind: 'and', operands: [other, key] }).readsKeys, true);
  });
});
