import type { StoredRow } from '../rows/row.js';
import type { RowQuery, TableGateway } from './gateway.js';

/** All rows that a query selects, in key order. One range read a page, and none ahead. */
export async function* allRows(
  table: TableGateway,
  query: Omit<RowQuery, 'limit' | 'cursor'>,
): AsyncGenerator<StoredRow, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await table.page({ ...query, cursor });
    yield* page.rows;
    ({ cursor } = page);
  } while (cursor !== undefined);
}
