import { unreachable } from '../../base/invariant.js';
import type { ComparisonOperator } from '../../model/edm/filter.js';
import { keyLengthMax } from '../../model/edm/limits.js';
import { complementOfStrings, noStrings, stringAfter, stringRange } from './string-set.js';
import type { StringSet } from './string-set.js';

/**
 * A bound that divides the legal keys as `bound` does and fits into a key of the store. A legal key
 * has at most 512 code units and no U+0000. A longer bound, or one that contains U+0000, directly
 * follows its longest legal prefix: no legal key is between the two.
 */
export function keyBound(bound: string): string {
  const nul = bound.indexOf('\u0000');
  const legal = nul === -1 || nul > keyLengthMax ? keyLengthMax : nul;
  return bound.length <= legal ? bound : stringAfter(bound.slice(0, legal));
}

/** The legal keys for which `key <operator> literal` holds. */
export function keysWhere(operator: ComparisonOperator, literal: string): StringSet {
  const from = keyBound(literal);
  const after = keyBound(stringAfter(literal));
  switch (operator) {
    case 'eq':
      return from === after ? noStrings : stringRange(from, after);
    case 'ne':
      return complementOfStrings(keysWhere('eq', literal));
    case 'lt':
      return stringRange('', from);
    case 'le':
      return stringRange('', after);
    case 'gt':
      return stringRange(after);
    case 'ge':
      return stringRange(from);
    default:
      return unreachable(operator);
  }
}
