import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { prefixOf, rangeOfPrefix } from '../definition/key-template.js';
import type { ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { allOf } from './filter.js';
import type { TableGateway } from './gateway.js';
import { odataString } from './odata.js';

/**
 * The entities of a definition in one partition, in key order; skips rows of other types. One range
 * read per 1,000 rows in the RowKey range of the type. `where`: an operand of `and`, in OData.
 */
export async function* partitionRows<D extends AnyDefinition>(
  definition: D,
  table: TableGateway,
  partitionKey: string,
  where?: string,
): AsyncGenerator<Stored<ReadOf<D>>> {
  const codec = codecOf(definition);
  const range = rangeOfPrefix(prefixOf(definition.rowKey, {}));
  const filter = allOf([
    `PartitionKey eq ${odataString(partitionKey)}`,
    range && `RowKey ge ${odataString(range.from)} and RowKey lt ${odataString(range.before)}`,
    where,
  ]);
  let cursor: string | undefined;
  do {
    const page = await table.page(cursor === undefined ? { filter } : { filter, cursor });
    for (const row of page.rows) if (codec.matches(row)) yield codec.fromRow(row);
    ({ cursor } = page);
  } while (cursor !== undefined);
}
