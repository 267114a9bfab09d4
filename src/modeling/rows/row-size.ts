import { unreachable } from '../../base/invariant.js';
import type { Row, RowProperties, WireValue } from './row.js';

/** The maximum of `rowBytes` for an entity: 1 MiB. */
export const rowBytesMax = 1_048_576;
/** Properties of an entity; the keys and the Timestamp make it 255. */
export const rowPropertiesMax = 252;
/** UTF-16 code units of a String, bytes of a Binary: 64 KiB either way. */
export const stringUnitsMax = 32_768;
export const binaryBytesMax = 65_536;
/** UTF-16 code units of a PartitionKey or RowKey: 1 KiB. */
export const keyUnitsMax = 512;

/**
 * The size of an entity as the service counts it, in bytes: 4, twice the length of the keys, and
 * for each property 8, twice the length of its name and the size of its value.
 */
export function rowBytes({ partitionKey, rowKey, properties }: Row): number {
  return 4 + 2 * (partitionKey.length + rowKey.length) + propertiesBytes(properties);
}

export function propertiesBytes(properties: RowProperties): number {
  let bytes = 0;
  for (const name of Object.keys(properties)) {
    const value = properties[name];
    if (value !== undefined) bytes += 8 + 2 * name.length + valueBytes(value);
  }
  return bytes;
}

export function valueBytes(wire: WireValue): number {
  switch (wire.type) {
    case 'String':
      return 2 * wire.value.length + 4;
    case 'Binary':
      return wire.value.length + 4;
    case 'Int32':
      return 4;
    case 'Boolean':
      return 1;
    case 'Guid':
      return 16;
    case 'Int64':
    case 'Double':
    case 'DateTime':
      return 8;
    default:
      return unreachable(wire);
  }
}
