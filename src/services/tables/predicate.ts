import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { findProperty, propertyTag, propertyTags } from '../../wire/edm/bag.js';
import type { ComparisonOperator, Filter } from '../../wire/edm/filter.js';
import type { EdmValue } from '../../wire/edm/value.js';
import { mismatchHolds } from './mismatch.js';
import { isTrue } from './value-order.js';
import { orderTest, timestampOrder, valueTest, type PropertyTest } from './value-comparison.js';

/** Tests one row. The keys are only looked at when `readsKeys`; else anything may be given. */
export type RowTest = (
  partitionKey: string,
  rowKey: string,
  version: number,
  bag: Bytes,
) => boolean;

export interface Predicate {
  readonly test: RowTest;
  /** Whether the test needs the keys, so that others need not be decoded for it. */
  readonly readsKeys: boolean;
}

/**
 * Compiles a filter to a test of stored rows that decodes nothing but the compared values (spec
 * table-service §5.4). Logic is two-valued: a comparison with a missing property is false, whatever
 * its operator, and `not` turns it around.
 */
export function compilePredicate(filter: Filter): Predicate {
  return { test: rowTest(filter), readsKeys: readsKeys(filter) };
}

function readsKeys(filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.operands.some(readsKeys);
    case 'not':
      return readsKeys(filter.operand);
    case 'comparison':
      return filter.property === 'PartitionKey' || filter.property === 'RowKey';
    case 'property':
    case 'constant':
      return false;
    default:
      return unreachable(filter);
  }
}

function rowTest(filter: Filter): RowTest {
  switch (filter.kind) {
    case 'and':
      return everyTest(filter.operands.map(rowTest));
    case 'or':
      return anyTest(filter.operands.map(rowTest));
    case 'not': {
      const inner = rowTest(filter.operand);
      return (partitionKey, rowKey, version, bag) => !inner(partitionKey, rowKey, version, bag);
    }
    case 'comparison':
      return comparisonTest(filter.property, filter.operator, filter.literal);
    case 'property':
      return isTrueTest(filter.property);
    case 'constant':
      return constantTest(filter.value);
    default:
      return unreachable(filter);
  }
}

function everyTest(tests: readonly RowTest[]): RowTest {
  return (partitionKey, rowKey, version, bag) => {
    for (const test of tests) if (!test(partitionKey, rowKey, version, bag)) return false;
    return true;
  };
}

function anyTest(tests: readonly RowTest[]): RowTest {
  return (partitionKey, rowKey, version, bag) => {
    for (const test of tests) if (test(partitionKey, rowKey, version, bag)) return true;
    return false;
  };
}

function constantTest(value: boolean): RowTest {
  return () => value;
}

function comparisonTest(
  property: string,
  operator: ComparisonOperator,
  literal: EdmValue,
): RowTest {
  const holds = orderTest(operator);
  switch (property) {
    case 'PartitionKey':
    case 'RowKey': {
      if (literal.type !== 'Edm.String') return constantTest(mismatchHolds(operator));
      const text = literal.value;
      const order = (key: string) => (key < text ? -1 : key > text ? 1 : 0);
      return property === 'PartitionKey'
        ? (partitionKey) => holds(order(partitionKey))
        : (_, rowKey) => holds(order(rowKey));
    }
    case 'Timestamp': {
      if (literal.type !== 'Edm.DateTime') return constantTest(mismatchHolds(operator));
      const order = timestampOrder(literal.value);
      return (_, __, version) => holds(order(version));
    }
    default:
      return propertyTest(property, valueTest(operator, literal));
  }
}

/** False where the property is missing. */
function propertyTest(property: string, test: PropertyTest): RowTest {
  const name = Buffer.from(property, 'utf8');
  return (_, __, ___, bag) => {
    const at = findProperty(bag, name);
    return at !== -1 && test(bag, at);
  };
}

/** The keys and Timestamp are there but never Boolean. */
function isTrueTest(property: string): RowTest {
  if (property === 'PartitionKey' || property === 'RowKey' || property === 'Timestamp') {
    return constantTest(false);
  }
  return propertyTest(
    property,
    (bag, at) => propertyTag(bag, at) === propertyTags.boolean && isTrue(bag, at),
  );
}
