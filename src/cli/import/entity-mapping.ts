import { checkEntity, checkNewKeys } from '../../services/tables/limits.js';
import { propertyBagOf } from '../../model/bag/bag.js';
import { forbiddenKeyCharacterAt } from '../../model/edm/key.js';
import { isPropertyName } from '../../model/edm/property-name.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Entity, Property } from '../../model/edm/value.js';
import { textOfValue } from '../client/edm-text.js';
import { RowError } from '../terminal/failure.js';
import { printable } from '../terminal/terminal.js';
import { renderKey, type KeyTemplate } from './key-template.js';

/**
 * How rows become entities. Names are those of the input; `rename` maps them to those of the table.
 */
export interface EntityMapping {
  readonly partitionKey: KeyTemplate;
  readonly rowKey: KeyTemplate;
  readonly rename: ReadonlyMap<string, string>;
  readonly omit: ReadonlySet<string>;
}

/** True when a column is never a property. */
export function isSystemColumn(name: string): boolean {
  return name === 'PartitionKey' || name === 'RowKey' || name === 'Timestamp';
}

/** The validated entity of a row. Throws `RowError`. */
export function entityOfRow(columns: readonly Property[], mapping: EntityMapping): Entity {
  const textOf = (name: string): string | undefined => {
    const value = columns.find((column) => column.name === name)?.value;
    return value === undefined ? undefined : textOfValue(value);
  };
  const partitionKey = renderKey(mapping.partitionKey, textOf);
  const rowKey = renderKey(mapping.rowKey, textOf);
  const properties: Property[] = [];
  for (const { name, value } of columns) {
    if (isSystemColumn(name) || mapping.omit.has(name)) continue;
    properties.push({ name: storedName(name, mapping), value });
  }
  checkLimits(partitionKey, rowKey, properties);
  return { partitionKey, rowKey, properties };
}

/** The property name of a column. Throws `RowError` when it is illegal. */
export function storedName(name: string, { rename }: EntityMapping): string {
  const stored = rename.get(name) ?? name;
  if (isPropertyName(stored)) return stored;
  const shown = printable(stored);
  throw new RowError(
    'PropertyNameInvalid',
    `'${shown}' cannot name a property; give another with --rename "${shown}=…", or --omit it.`,
  );
}

function checkLimits(partitionKey: string, rowKey: string, properties: readonly Property[]): void {
  for (const [name, key] of [
    ['PartitionKey', partitionKey],
    ['RowKey', rowKey],
  ] as const) {
    const at = forbiddenKeyCharacterAt(key);
    if (at === -1) continue;
    const character = JSON.stringify(key.charAt(at));
    throw new RowError(
      'OutOfRangeInput',
      `The ${name} '${printable(key)}' holds ${character}, which no key may hold.`,
    );
  }
  try {
    checkNewKeys(partitionKey, rowKey);
    checkEntity({ partitionKey, rowKey, properties: propertyBagOf(properties) });
  } catch (error) {
    if (error instanceof StorageError) throw new RowError(error.code, error.message);
    throw error;
  }
}
