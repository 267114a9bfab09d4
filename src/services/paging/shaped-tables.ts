import { pageSize } from '../tables/page-size.js';
import { tableIdentity } from '../tables/table-name.js';
import type { TablePage, TableQuery } from '../tables/types.js';
import type { PageShape } from './paging-policy.js';
import { shapedNames } from './shaped-names.js';

/** The lowest character of a table's name. */
const lowestCharacter = '0';

/** A page of a table query in a given shape. `read` runs the query without a shape. */
export async function shapedTables(
  read: (query: TableQuery) => Promise<TablePage>,
  query: TableQuery,
  shape: PageShape,
): Promise<TablePage> {
  const limit = pageSize(query.top);
  if (limit === 0) return read(query);
  const from = query.from === undefined ? undefined : tableIdentity(query.from);
  const { items, ...rest } = await shapedNames(
    {
      read: async (top) => {
        const { tables, ...next } = await read({ ...query, top });
        return { items: tables, ...next };
      },
      startOf: ({ name }) => {
        const identity = tableIdentity(name);
        return identity === from ? undefined : identity;
      },
      after: ({ name }) => `${tableIdentity(name)}${lowestCharacter}`,
      limit,
    },
    shape,
  );
  return { tables: items, ...rest };
}
