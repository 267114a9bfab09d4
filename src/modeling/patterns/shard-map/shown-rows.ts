import type { StoredRow } from '../../rows/row.js';
import { allPages } from '../../table/all-rows.js';
import type { TableGateway } from '../../table/gateway.js';
import { isFenceRow, ownTypeProperty } from './fence.js';
import { isMapRow } from './map-row.js';

/** The properties to read so that rows of shard maps can be recognised; undefined: all. */
export function selectedWithType(
  select: readonly string[] | undefined,
): readonly string[] | undefined {
  return select && [...select, ownTypeProperty];
}

/** Whether a row was written by a program and not by a shard map. `EntityType` must be read. */
export function isContent(row: StoredRow): boolean {
  return !isFenceRow(row) && !isMapRow(row);
}

/** The partitions with rows of programs, a page of the table at a time. Reads only keys. */
export async function* contentPartitions(
  table: TableGateway,
): AsyncGenerator<readonly string[], void, undefined> {
  let last: string | undefined;
  for await (const { rows } of allPages(table, { select: [ownTypeProperty] })) {
    const keys = new Set(rows.filter(isContent).map(({ partitionKey }) => partitionKey));
    if (last !== undefined) keys.delete(last);
    last = [...keys].at(-1) ?? last;
    if (keys.size > 0) yield [...keys];
  }
}

/** Removes the properties that were only read to recognise rows of the shard map. */
export function selecting(select: readonly string[] | undefined): (row: StoredRow) => StoredRow {
  if (select === undefined || select.includes(ownTypeProperty)) return (row) => row;
  return ({ properties, ...row }) => {
    const { [ownTypeProperty]: _, ...selected } = properties;
    return { ...row, properties: selected };
  };
}
