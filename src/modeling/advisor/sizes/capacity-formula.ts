import type { WireType } from '../../rows/row.js';

/**
 * Bytes that the service counts for what it stores, as the storage team published it
 * ("Understanding Windows Azure Storage Billing – Bandwidth, Transactions, and Capacity", 2010).
 * The same formula decides what fits into 1 MiB. Lengths are in UTF-16 code units.
 */
export const capacityFormula = Object.freeze({
  source: 'Understanding Windows Azure Storage Billing, Windows Azure Storage team, 2010-07-09',
  text: '4 + 2 × (PartitionKey + RowKey) + for each property (8 + 2 × its name + its value)',
  /** Each entity, the Timestamp included. */
  entity: 4,
  /** Each code unit of the keys. */
  keyUnit: 2,
  /** Each property that an entity has. */
  property: 8,
  /** Each code unit of a property's name. */
  nameUnit: 2,
  /** Besides the 2 bytes of each code unit of a String, or the bytes of a Binary. */
  length: 4,
  textUnit: 2,
  fixed: Object.freeze({
    Int32: 4,
    Int64: 8,
    Double: 8,
    Boolean: 1,
    Guid: 16,
    DateTime: 8,
  } satisfies Readonly<Record<Exclude<WireType, 'String' | 'Binary'>, number>>),
});
