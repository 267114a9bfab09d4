import { ValueError } from '../rows/model-error.js';
import type { RowKey, RowProperties } from '../rows/row.js';
import { Instant } from '../rows/instant.js';

/**
 * The symbol under which a read entity carries its metadata: spreading copies it, JSON leaves it
 * out.
 */
export const storedAs: unique symbol = Symbol.for('tabularium.storedAs');

/** Metadata of an entity that was read. */
export interface StoredAs {
  readonly key: RowKey;
  readonly etag: string;
  /** Ticks; 0n when it was not selected. */
  readonly timestamp: bigint;
  /** Version of the definition that wrote the row. */
  readonly version: number;
  /** Stored properties that the definition does not know. Written back by replace. */
  readonly unknown: RowProperties;
  /** The unknown properties that were encrypted and must be encrypted again. */
  readonly encrypted: readonly string[];
  /** Ticks that a `Date` does not show, by stored name. Written back when the date is unchanged. */
  readonly finer: Readonly<Record<string, bigint>>;
  /** Whether only some properties were selected: such an entity cannot be written back. */
  readonly isPartial: boolean;
}

/** An entity that was read. */
export type Stored<T> = T & { readonly [storedAs]: StoredAs };

/** The metadata of a read entity; undefined for others. */
export function storedAsOf(entity: object): StoredAs | undefined {
  return (entity as { readonly [storedAs]?: StoredAs })[storedAs];
}

/** The ETag that an entity was read with. Throws `ValueError` when it was not read. */
export function etagOf(entity: object): string {
  const stored = storedAsOf(entity);
  if (stored !== undefined) return stored.etag;
  throw new ValueError('the entity carries no ETag, because it was not read from a table');
}

/** When the entity was last written, by the service's clock; undefined when it is not known. */
export function timestampOf(entity: object): Instant | undefined {
  const ticks = storedAsOf(entity)?.timestamp ?? 0n;
  return ticks === 0n ? undefined : Instant.ofTicks(ticks);
}

/** The keys that an entity was read with. Throws `ValueError` when it was not read. */
export function rowKeyOf(entity: object): RowKey {
  const stored = storedAsOf(entity);
  if (stored !== undefined) return stored.key;
  throw new ValueError('the entity carries no keys, because it was not read from a table');
}

/** The entity without its metadata, for comparisons and new copies. */
export function plain<T extends object>(entity: Stored<T> | T): T {
  const copy: T & { [storedAs]?: StoredAs } = { ...entity };
  delete copy[storedAs];
  return copy;
}
