/**
 * A stored value with its type, unconverted: a whole Double stays a Double, and a DateTime keeps
 * its 100 ns.
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

/** Values by stored name, without the keys and the Timestamp. */
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
   * Names of properties that must be encrypted before the row is written. A plain gateway refuses
   * such a row; an encrypting one replaces the values and removes the names.
   */
  readonly encrypt?: readonly string[];
}

/** A row that was read. */
export interface StoredRow extends Row {
  readonly etag: string;
  /** Ticks; 0n when it was not selected. */
  readonly timestamp: bigint;
  /**
   * Whether encrypted properties may still be stored in plain, because the table is being
   * encrypted.
   */
  readonly acceptsPlain?: boolean;
}
