import { own } from '../../../base/own.js';
import { rangeWithPrefix } from '../../definition/key-template.js';
import { reservedRowKeys } from '../../definition/reserved-keys.js';
import type { Row, RowKey, StoredRow, WireValue } from '../../rows/row.js';
import { storedText, textIn } from '../../rows/row-parts.js';

/**
 * A child that is moving to another partition. The partition that it leaves keeps it in a row with
 * the child's own properties, so that it fits whenever the entity did; the child itself is deleted
 * there. `move` is unique: a mark with it, in the target partition, shows that the child has
 * arrived.
 *
 *   RowKey  ~moving_<move>    MovingType MovingPartition MovingRow MovingParent + the child's own
 *   RowKey  ~arrived_<move>   ArrivedFrom
 *
 * Their types, in the property with the types of entities, are `Moving` and `Arrived`.
 */
export interface Moving {
  readonly move: string;
  /** The child under its new keys. */
  readonly child: Row;
  /** RowKey of the new parent. */
  readonly parentRowKey: string;
}

const { movingChild: movingPrefix, arrivedChild: arrivedPrefix } = reservedRowKeys;
/** The ranges of RowKeys of both kinds of rows. */
export const movingRange = rangeWithPrefix(movingPrefix);
export const arrivedRange = rangeWithPrefix(arrivedPrefix);

const movingType = 'Moving';
const arrivedType = 'Arrived';

const names = {
  childType: 'MovingType',
  partition: 'MovingPartition',
  row: 'MovingRow',
  parent: 'MovingParent',
  from: 'ArrivedFrom',
};

export function movingKey(partitionKey: string, move: string): RowKey {
  return { partitionKey, rowKey: movingPrefix + move };
}

export function arrivedKey(partitionKey: string, move: string): RowKey {
  return { partitionKey, rowKey: arrivedPrefix + move };
}

/** The row that keeps a child. `typeName` is the property with the types of entities. */
export function movingRow(partitionKey: string, moving: Moving, typeName: string): Row {
  const { move, child, parentRowKey } = moving;
  const childType = own(child.properties, typeName);
  return {
    ...child,
    ...movingKey(partitionKey, move),
    properties: {
      ...child.properties,
      [typeName]: storedText(movingType),
      [names.partition]: storedText(child.partitionKey),
      [names.row]: storedText(child.rowKey),
      [names.parent]: storedText(parentRowKey),
      ...(childType === undefined ? {} : { [names.childType]: childType }),
    },
  };
}

/**
 * Reads such a row. The child is returned as if it were stored under its new keys. Undefined for a
 * row that no move wrote.
 */
export function movingOf(
  row: StoredRow,
  typeName: string,
): (Moving & { readonly child: StoredRow }) | undefined {
  if (textIn(row.properties, typeName) !== movingType) return undefined;
  const properties: Record<string, WireValue> = { ...row.properties };
  const childType = properties[names.childType];
  const [partitionKey, rowKey, parentRowKey] = [names.partition, names.row, names.parent].map(
    (name) => textIn(properties, name),
  );
  if (partitionKey === undefined || rowKey === undefined || parentRowKey === undefined) {
    return undefined;
  }
  for (const name of [typeName, ...Object.values(names)]) delete properties[name];
  if (childType !== undefined) properties[typeName] = childType;
  return {
    move: row.rowKey.slice(movingPrefix.length),
    child: { ...row, partitionKey, rowKey, properties },
    parentRowKey,
  };
}

/** The mark that a child has arrived. `from` is the partition that it left. */
export function arrivedRow(
  { partitionKey, move, from }: { partitionKey: string; move: string; from: string },
  typeName: string,
): Row {
  const properties = { [typeName]: storedText(arrivedType), [names.from]: storedText(from) };
  return { ...arrivedKey(partitionKey, move), properties };
}

/** The key of the row that kept the child of a mark; undefined for a row that is no such mark. */
export function originOf({ rowKey, properties }: Row, typeName: string): RowKey | undefined {
  const from = textIn(properties, names.from);
  if (from === undefined || textIn(properties, typeName) !== arrivedType) return undefined;
  return movingKey(from, rowKey.slice(arrivedPrefix.length));
}
