/**
 * One stored value with its type of the service. The types carry what the service stores and
 * nothing is converted: a Double that happens to be whole stays a Double, and a date keeps its
 * 100 ns.
 */
export type WireValue =
  | { readonly type: 'String'; readonly value: string }
  | { readonly type: 'Int32'; readonly value: number }
  | { readonly type: 'Int64'; readonly value: bigint }
  | { readonly type: 'Double'; readonly value: number }
  | { readonly type: 'Boolean'; readonly value: boolean }
  /** Lower case, with hyphens. */
  | { readonly type: 'Guid'; readonly value: string }
  | { readonly type: 'Binary'; readonly value: Uint8Array }
  /** Ticks: 100 ns units since 0001-01-01T00:00:00Z. */
  | { readonly type: 'DateTime'; readonly value: bigint };

/** The service's types. */
export type WireType = WireValue['type'];

/** By name on the wire. The keys and the Timestamp are no properties. */
export type RowProperties = Readonly<Record<string, WireValue>>;

/** The key of a row, as it is stored. */
export interface RowKey {
  readonly partitionKey: string;
  readonly rowKey: string;
}

/** One entity as the service stores it. */
export interface Row extends RowKey {
  readonly properties: RowProperties;
  /**
   * Names of properties that must not be written as they are. A gateway refuses to write a row that
   * has any; one that encrypts replaces their values and takes the names away.
   */
  readonly encrypt?: readonly string[];
}

/** A row as it was read. */
export interface StoredRow extends Row {
  readonly etag: string;
  /** Ticks; 0n when it was not selected. */
  readonly timestamp: bigint;
  /** Whether a property that should be encrypted may be in plain: its table is being encrypted. */
  readonly acceptsPlain?: boolean;
}
