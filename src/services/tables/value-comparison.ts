import type { Bytes } from '../../base/bytes.js';
import { unreachable } from '../../base/invariant.js';
import { propertyTag, propertyTags } from '../../model/bag/bag.js';
import { ticksFromMicros, ticksOfVersion } from '../../model/edm/date-time.js';
import type { ComparisonOperator } from '../../model/edm/filter.js';
import type { EdmValue } from '../../model/edm/value.js';
import { typeMismatchResult } from './type-mismatch.js';
import {
  doubleOrder,
  int32Order,
  int64Order,
  sameTypeOrder,
  tagOf,
  textEquality,
} from './value-order.js';

/** Tests the property whose header is at an offset of a bag. */
export type PropertyTest = (bag: Bytes, at: number) => boolean;

/** A test of a stored property against a literal by the rules of table-service §5.4. */
export function valueTest(operator: ComparisonOperator, literal: EdmValue): PropertyTest {
  const holds = orderTest(operator);
  const mismatch = typeMismatchResult(operator);
  if (literal.type === 'Edm.Int32') {
    const order = int32Order(literal.value);
    return (bag, at) => {
      const tag = propertyTag(bag, at);
      return isNumberTag(tag) ? holds(order(bag, at)) : mismatch;
    };
  }
  if (literal.type === 'Edm.Int64') {
    const { int64, double } = propertyTags;
    const [asInt64, asDouble] = [int64Order(literal.value), doubleOrder(Number(literal.value))];
    return (bag, at) => {
      const tag = propertyTag(bag, at);
      if (tag === int64) return holds(asInt64(bag, at));
      return tag === double ? holds(asDouble(bag, at)) : mismatch;
    };
  }
  if (literal.type === 'Edm.Double') {
    const order = doubleOrder(literal.value);
    return (bag, at) =>
      propertyTag(bag, at) === propertyTags.double ? holds(order(bag, at)) : mismatch;
  }
  const isEquality = operator === 'eq' || operator === 'ne';
  const order = isEquality ? textEquality(literal) : sameTypeOrder(literal);
  const expected = tagOf(literal.type);
  return (bag, at) => (propertyTag(bag, at) === expected ? holds(order(bag, at)) : mismatch);
}

/** Turns an order into the result of a comparison. NaN is unequal and nothing else. */
export function orderTest(operator: ComparisonOperator): (order: number) => boolean {
  switch (operator) {
    case 'eq':
      return (order) => order === 0;
    case 'ne':
      return (order) => order !== 0;
    case 'lt':
      return (order) => order < 0;
    case 'le':
      return (order) => order <= 0;
    case 'gt':
      return (order) => order > 0;
    case 'ge':
      return (order) => order >= 0;
    default:
      return unreachable(operator);
  }
}

/**
 * The order of a version's Timestamp and an instant in ticks of 100 ns. Only the version of the
 * instant's own microsecond needs the seventh digit.
 */
export function timestampOrder(ticks: bigint): (version: number) => number {
  const since1970 = ticks - ticksFromMicros(0);
  const rest = ((since1970 % 10n) + 10n) % 10n;
  const micros = Number((since1970 - rest) / 10n);
  const withinMicro = Number(ticksOfVersion(micros) - ticks);
  return (version) => (version === micros ? withinMicro : version - micros);
}

function isNumberTag(tag: number): boolean {
  return tag === propertyTags.int32 || tag === propertyTags.int64 || tag === propertyTags.double;
}
