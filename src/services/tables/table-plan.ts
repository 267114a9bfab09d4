import { unreachable } from '../../base/invariant.js';
import type { Filter } from '../../model/edm/filter.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { keysWhere } from './key-bounds.js';
import {
  allStrings,
  complementOfStrings,
  intersectStrings,
  noStrings,
  uniteStrings,
  type StringSet,
} from './string-set.js';
import { tableIdentity } from './table-name.js';

/**
 * The table identities that a filter over TableName selects, exactly, without a residual.
 *
 * Names are compared without case, as tables are identified: `TableName eq 'MyTable'` finds the
 * table in any spelling, and ranges follow the order of the listing (table-service §3.5, where the
 * case of comparisons is unconfirmed).
 */
export function planTables(filter: Filter | undefined): StringSet {
  if (filter === undefined) return allStrings;
  switch (filter.kind) {
    case 'and': {
      let shared = allStrings;
      for (const operand of filter.operands) shared = intersectStrings(shared, planTables(operand));
      return shared;
    }
    case 'or':
      return uniteStrings(filter.operands.map(planTables));
    case 'not':
      return complementOfStrings(planTables(filter.operand));
    case 'comparison': {
      const { property, operator, literal } = filter;
      if (property !== 'TableName' || literal.type !== 'Edm.String') {
        throw new StorageError('InvalidInput');
      }
      return keysWhere(operator, tableIdentity(literal.value));
    }
    case 'property':
      throw new StorageError('InvalidInput');
    case 'constant':
      return filter.value ? allStrings : noStrings;
    default:
      return unreachable(filter);
  }
}
