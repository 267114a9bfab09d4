import type { EdmType } from './value.js';

/** Bytes that the service charges for a value of a type (table-service §2.2). */
export const fixedSizes: Readonly<Record<Exclude<EdmType, 'Edm.String' | 'Edm.Binary'>, number>> = {
  'Edm.Int32': 4,
  'Edm.Int64': 8,
  'Edm.Double': 8,
  'Edm.DateTime': 8,
  'Edm.Guid': 16,
  'Edm.Boolean': 1,
};

/** The bytes that a string of `units` UTF-16 code units counts towards the limit of an entity. */
export function stringSize(units: number): number {
  return 2 * units + 4;
}

/** The bytes that a binary value of `bytes` bytes counts towards the limit of an entity. */
export function binarySize(bytes: number): number {
  return bytes + 4;
}

/** Bytes that the service charges for a property, from the code units of its name. */
export function propertySize(nameUnits: number, valueBytes: number): number {
  return 8 + 2 * nameUnits + valueBytes;
}

/**
 * An entity's size in bytes by the service's published formula (table-service §2.2), which the
 * limit of 1 MiB uses; from the sum of its properties. Timestamp does not count.
 */
export function entitySize(partitionKey: string, rowKey: string, propertyBytes: number): number {
  return 4 + 2 * (partitionKey.length + rowKey.length) + propertyBytes;
}
