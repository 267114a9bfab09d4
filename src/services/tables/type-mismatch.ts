import { unreachable } from '../../base/invariant.js';
import type { ComparisonOperator } from '../../model/edm/filter.js';

/**
 * Whether a comparison holds when the property is there but has another type than the literal
 * (table-service §5.4 rule 4). The values do not matter.
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
