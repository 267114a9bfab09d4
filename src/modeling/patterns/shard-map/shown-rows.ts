import type { StoredRow } from '../../rows/row.js';
import { isFenceRow, ownTypeProperty } from './fence.js';
import { isMapRow } from './map-row.js';

/** What to read so that rows of shard maps can be told; undefined: everything. */
export function selectedWithType(
  select: readonly string[] | undefined,
): readonly string[] | undefined {
  return select && [...select, ownTypeProperty];
}

/** Whether a row was written by a program and not by a shard map. `EntityType` must be read. */
export function isContent(row: StoredRow): boolean {
  return !isFenceRow(row) && !isMapRow(row);
}

/** Takes out of a row what was read only to tell the rows of the shard map. */
export function selecting(select: readonly string[] | undefined): (row: StoredRow) => StoredRow {
  if (select === undefined || select.includes(ownTypeProperty)) return (row) => row;
  return ({ properties, ...row }) => {
    const { [ownTypeProperty]: _, ...selected } = properties;
    return { ...row, properties: selected };
  };
}
