import { unreachable } from '../../base/invariant.js';
import type { Catalogue } from '../catalogue.js';
import type { OperationRow } from '../rows.js';
import type { OperationEnd } from './tools.js';

/**
 * Returns how an operation ended that another process has ended. `another`: only that process
 * knows.
 */
export async function outcomeOf(
  catalogue: Catalogue,
  row: OperationRow,
): Promise<OperationEnd | 'another'> {
  switch (row.kind) {
    case 'split':
    case 'merge':
      // Splits and merges cannot be cancelled.
      return 'done';
    case 'move': {
      const store = (await catalogue.range(row.range))?.row.store;
      if (store === row.target) return 'done';
      return store === row.source && row.step !== 'discard' ? 'cancelled' : 'another';
    }
    case 'backup':
    case 'restore':
      return 'another';
    default:
      return unreachable(row);
  }
}
