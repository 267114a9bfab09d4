import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { prefixOf, rangeOfPrefix } from '../definition/key-template.js';
import type { ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import type { StoredRow } from '../rows/row.js';
import { allRows } from './all-rows.js';
import type { TableGateway } from './gateway.js';
import { reporting, type UnreadableRow } from './unreadable-row.js';

/**
 * The entities of a definition in one partition, or in all when it is undefined, in key order;
 * skips rows of other types. A row that cannot be read is told to `onUnreadable` and skipped;
 * without that function it is thrown as `DecodeError`. One range read per 1,000 rows in the RowKey
 * range of the type.
 */
export async function* partitionRows<D extends AnyDefinition>(
  definition: D,
  table: TableGateway,
  partitionKey: string | undefined,
  { onUnreadable }: { readonly onUnreadable?: (row: UnreadableRow) => void } = {},
): AsyncGenerator<Stored<ReadOf<D>>> {
  const codec = codecOf(definition);
  const rowKey = rangeOfPrefix(prefixOf(definition.rowKey, {}));
  const read = (row: StoredRow) => codec.fromRow(row);
  const readOrSkip = onUnreadable === undefined ? read : reporting(read, onUnreadable);
  for await (const row of allRows(table, { partitionKey, rowKey })) {
    const entity = codec.matches(row) ? readOrSkip(row) : undefined;
    if (entity !== undefined) yield entity;
  }
}
