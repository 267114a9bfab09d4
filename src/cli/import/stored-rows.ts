import type { Entity, Property } from '../../model/edm/value.js';
import { columnsJson } from '../client/entity-json.js';
import { queryPages } from '../client/query-pages.js';
import type { TableClient } from '../client/table-client.js';

interface Written {
  readonly entity: Entity;
}

/**
 * The rows of one transaction that are stored with other columns; undefined when one of the rows is
 * missing, so that the transaction was not committed. Reads row by row, up to the first missing
 * one.
 */
export async function differingRows<Row extends Written>(
  rows: readonly Row[],
  { client, table }: { readonly client: TableClient; readonly table: string },
): Promise<readonly Row[] | undefined> {
  const differing: Row[] = [];
  for (const row of rows) {
    const stored = await storedColumns(client, table, row.entity);
    if (stored === undefined) return undefined;
    if (comparable(stored) !== comparable(columnsOf(row.entity))) differing.push(row);
  }
  return differing;
}

async function storedColumns(
  client: TableClient,
  table: string,
  { partitionKey, rowKey }: Entity,
): Promise<readonly Property[] | undefined> {
  const filter = `PartitionKey eq ${quoted(partitionKey)} and RowKey eq ${quoted(rowKey)}`;
  for await (const { rows } of queryPages(client, { table, filter, select: undefined, limit: 1 })) {
    const [row] = rows;
    if (row !== undefined) return row.filter(({ name }) => name !== 'Timestamp');
  }
  return undefined;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function columnsOf({ partitionKey, rowKey, properties }: Entity): readonly Property[] {
  const keys = Object.entries({ PartitionKey: partitionKey, RowKey: rowKey });
  const keyColumns = keys.map(([name, value]): Property => {
    return { name, value: { type: 'Edm.String', value } };
  });
  return [...keyColumns, ...properties];
}

/** Equal for the same columns in any order. */
function comparable(columns: readonly Property[]): string {
  return columnsJson(columns.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
}
