import type { RowKey, RowProperties, TableGateway } from '../../../src/modeling/index.js';
import { rowPropertiesMax } from '../../../src/modeling/rows/row-size.js';

/**
 * Leaves only the named properties of a row, and adds as many as a row may have: there is no room
 * for its type or for defaults.
 */
export async function fillRow(
  table: TableGateway,
  key: RowKey,
  ...kept: readonly string[]
): Promise<void> {
  const stored = await table.get(key);
  const own = kept.flatMap((name) => {
    const value = stored?.properties[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const others = Array.from({ length: rowPropertiesMax - own.length }, (_, index) => {
    return [`other${index}`, { type: 'String', value: 'x' }] as const;
  });
  const properties: RowProperties = Object.fromEntries([...own, ...others]);
  const { partitionKey, rowKey } = key;
  await table.write({ kind: 'upsert-replace', row: { partitionKey, rowKey, properties } });
}
