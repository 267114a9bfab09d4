import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { nextTurn } from '../../base/async/turns.js';
import type { ContainerRecord, Containers } from '../containers/containers.js';
import { keyBound } from './key-bounds.js';
import { pageSize } from './page-size.js';
import { intersectStrings, stringRange } from './string-set.js';
import { lowestIdentity, tableIdentity } from './table-name.js';
import { planTables } from './table-plan.js';
import type { TableInfo, TablePage, TableQuery } from './types.js';

/** Records decoded before yielding: with policies they are long. */
const tablesAtOnceMax = 200;

/**
 * One page of an account's tables, ordered by lower-case name (table-service §3.5). System tables
 * are not among them (blob-service §22.1).
 */
export async function queryTableNames(
  context: {
    readonly containers: Containers<ContainerRecord>;
    readonly memory: MemoryBudget | undefined;
  },
  account: string,
  query: TableQuery,
): Promise<TablePage> {
  const { containers, memory } = context;
  const top = pageSize(query.top);
  const wanted = planTables(query.filter);
  if (top === 0) return { tables: [] };
  const start = keyBound(tableIdentity(query.from ?? ''));
  const from = stringRange(start < lowestIdentity ? lowestIdentity : start);
  const tables: TableInfo[] = [];
  for (const interval of intersectStrings(wanted, from)) {
    // A full page still looks for the name that starts the next page.
    const limit = top - tables.length;
    const page = await containers.range(account, interval, { limit, memory });
    for (const { name } of page.records) {
      tables.push({ name });
      if (tables.length % tablesAtOnceMax === 0) await nextTurn();
    }
    if (page.next !== undefined) return { tables, next: page.next };
  }
  return { tables };
}
