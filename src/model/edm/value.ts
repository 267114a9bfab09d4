import type { Bytes } from '../../base/bytes.js';

/** The primitive types a property can have (table-service §2.5). */
export type EdmType = EdmValue['type'];

/**
 * A typed value. Only the constructors in this folder create one, so it is in the range of its
 * type: Int32 and Int64 fit, a guid is canonical lower case, a date lies in 1601…9999, or in a
 * filter in any year from 1.
 */
export type EdmValue =
  | { readonly type: 'Edm.String'; readonly value: string }
  | { readonly type: 'Edm.Int32'; readonly value: number }
  | { readonly type: 'Edm.Int64'; readonly value: bigint }
  | { readonly type: 'Edm.Double'; readonly value: number }
  | { readonly type: 'Edm.Boolean'; readonly value: boolean }
  /** 100 ns ticks since 0001-01-01T00:00:00Z. */
  | { readonly type: 'Edm.DateTime'; readonly value: bigint }
  | { readonly type: 'Edm.Guid'; readonly value: string }
  | { readonly type: 'Edm.Binary'; readonly value: Bytes };

export interface Property {
  readonly name: string;
  readonly value: EdmValue;
}

/** An entity on the client's side: keys and its own properties, in the order given. */
export interface Entity {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly properties: readonly Property[];
}

/** Encoded properties, and the measures for the limits of an entity. */
export interface PropertyBag {
  /** As `bag.ts` reads it, in the order given. Valid only when `count` is within its limit. */
  readonly bag: Bytes;
  readonly count: number;
  /** The sum of the properties by the service's formula, without the keys. */
  readonly propertyBytes: number;
  readonly nameTooLong: boolean;
  readonly valueTooLarge: boolean;
}

/** An entity to store. */
export interface EntityInput {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly properties: PropertyBag;
}

/**
 * An entity as the store holds it. `version` is its Timestamp and ETag, in microseconds since 1970;
 * `bag` is the encoded properties (see `bag.ts`), decoded only as far as a request needs.
 */
export interface StoredEntity {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly version: number;
  readonly bag: Bytes;
}
