import { unreachable } from '../../base/invariant.js';
import type { ComparisonOperator } from '../../model/edm/filter.js';

/**
 * The result of a comparison with a property of another type than the literal (table-service §5.4
 * rule 4), whatever the values.
 */
export function typeMismatchResult(operator: ComparisonOperator): boolean {
  switch (operator) {
    case 'ne':
    case 'lt':
    case 'le':
      return true;
    case 'eq':
    case 'gt':
    case 'ge':
      return false;
    default:
      return unreachable(operator);
  }
}
