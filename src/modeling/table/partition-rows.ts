import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { prefixOf, rangeOfPrefix } from '../definition/key-template.js';
import type { ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { allRows } from './all-rows.js';
import type { Filter } from './filter.js';
import type { TableGateway } from './gateway.js';

/**
 * The entities of a definition in one partition, or in all when it is undefined, in key order;
 * skips rows of other types. One range
 * read per 1,000 rows in the RowKey range of the type.
 */
export async function* partitionRows<D extends AnyDefinition>(
  definition: D,
  table: TableGateway,
  partitionKey: string | undefined,
  where?: Filter,
): AsyncGenerator<Stored<ReadOf<D>>> {
  const codec = codecOf(definition);
  const rowKey = rangeOfPrefix(prefixOf(definition.rowKey, {}));
  for await (const row of allRows(table, { partitionKey, rowKey, where })) {
    if (codec.matches(row)) yield codec.fromRow(row);
  }
}
