import { unreachable } from '../../base/invariant.js';
import type { EdmValue, Property } from './value.js';

/** Bytes that the service charges for one value (spec table-service §2.2). */
function valueSize(value: EdmValue): number {
  switch (value.type) {
    case 'Edm.String':
      return 2 * value.value.length + 4;
    case 'Edm.Binary':
      return value.value.length + 4;
    case 'Edm.Int32':
      return 4;
    case 'Edm.Int64':
    case 'Edm.Double':
    case 'Edm.DateTime':
      return 8;
    case 'Edm.Guid':
      return 16;
    case 'Edm.Boolean':
      return 1;
    default:
      return unreachable(value);
  }
}

/**
 * An entity's size in bytes by the service's published formula (spec table-service §2.2), which is
 * what the limit of 1 MiB is measured by. Timestamp does not count.
 */
export function entitySize(
  partitionKey: string,
  rowKey: string,
  properties: readonly Property[],
): number {
  let size = 4 + 2 * (partitionKey.length + rowKey.length);
  for (const property of properties) {
    size += 8 + 2 * property.name.length + valueSize(property.value);
  }
  return size;
}
