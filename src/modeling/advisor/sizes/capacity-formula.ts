import type { WireType } from '../../rows/row.js';

/**
 * How the service counts stored bytes, as the storage team published it ("Understanding Windows
 * Azure Storage Billing – Bandwidth, Transactions, and Capacity", 2010). The same formula
 * determines what fits into 1 MiB. Lengths are in UTF-16 code units.
 */
export const capacityFormula = Object.freeze({
  source: 'Understanding Windows Azure Storage Billing, Windows Azure Storage team, 2010-07-09',
  text: '4 + 2 × (PartitionKey + RowKey) + for each property (8 + 2 × its name + its value)',
  /** Per entity, the Timestamp included. */
  entity: 4,
  /** Per code unit of the keys. */
  keyUnit: 2,
  /** Per property of an entity. */
  property: 8,
  /** Per code unit of a property's name. */
  nameUnit: 2,
  /** Per String or Binary, besides 2 bytes per code unit or the bytes themselves. */
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
