import type { StoredRow } from '../rows/row.js';
import type { RowPage, RowQuery, TableGateway } from './gateway.js';

/**
 * The pages of a query, from its cursor on, in key order. One range read each, and none ahead: the
 * next page is read when the one before it is done. A program that stores the cursor of a page when
 * it is done resumes behind that page, also after a crash.
 */
export async function* allPages(
  table: TableGateway,
  query: RowQuery,
): AsyncGenerator<RowPage, void, undefined> {
  let { cursor } = query;
  do {
    const page = await table.page({ ...query, cursor });
    yield page;
    ({ cursor } = page);
  } while (cursor !== undefined);
}

/** All rows that a query selects, in key order. One range read a page, and none ahead. */
export async function* allRows(
  table: TableGateway,
  query: Omit<RowQuery, 'limit' | 'cursor'>,
): AsyncGenerator<StoredRow, void, undefined> {
  for await (const { rows } of allPages(table, query)) yield* rows;
}
