import type { EntityRange } from '../../model/edm/entity-range.js';
import type { QueryReport } from '../../model/edm/query-report.js';
import type { EntityInput, StoredEntity } from '../../model/edm/value.js';
import type { Filter } from '../../model/edm/filter.js';
import type { QueryPlan } from './query-plan.js';

/** A table as its account lists it: the name keeps the spelling it was created with. */
export interface TableInfo {
  readonly name: string;
}

/**
 * The condition of `If-Match` on the stored entity (table-service §2.8). `never` is a well-formed
 * etag that no entity of this server can have: it fails like any stale etag.
 */
export type Condition =
  | { readonly kind: 'any' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'never' };

/** One write of one entity. `replace` and `merge` require that the entity exists. */
export type WriteOperation =
  | { readonly kind: 'insert'; readonly entity: EntityInput }
  | { readonly kind: 'replace'; readonly entity: EntityInput; readonly condition: Condition }
  | { readonly kind: 'merge'; readonly entity: EntityInput; readonly condition: Condition }
  | { readonly kind: 'insert-or-replace'; readonly entity: EntityInput }
  | { readonly kind: 'insert-or-merge'; readonly entity: EntityInput }
  | {
      readonly kind: 'delete';
      readonly partitionKey: string;
      readonly rowKey: string;
      readonly condition: Condition;
    };

/** The written entity; `undefined` after a delete. */
export type WriteResult = StoredEntity | undefined;

export interface TableQuery {
  /** May only refer to `TableName`. */
  readonly filter?: Filter;
  /** 0…1,000; 1,000 when absent. */
  readonly top?: number;
  /** The first table name to return, in any case. */
  readonly from?: string;
}

export interface TablePage {
  readonly tables: readonly TableInfo[];
  /** The name at which the next page starts; absent on the last page. */
  readonly next?: string;
}

/** The next entity to return. Without a row key: the beginning of the partition. */
export interface EntityPosition {
  readonly partitionKey: string;
  readonly rowKey?: string;
}

/** Takes the entities of a page while it is read, so that they need not be copied first. */
export interface EntitySink {
  /**
   * Whether the sink takes the next entity, whose bag has `bagBytes` bytes. If not, the page holds
   * the remaining entities.
   */
  accepts(bagBytes: number): boolean;
  /**
   * Takes an entity. Its bag is only valid during the call, and may be followed by other bytes.
   * Entities that were taken are void when the query fails.
   */
  take(entity: StoredEntity): void;
}

export interface EntityQuery {
  readonly filter?: Filter;
  /** 0…1,000; 1,000 when absent. */
  readonly top?: number;
  readonly from?: EntityPosition;
  /** Nothing outside of it is read, whatever the filter and the position are. */
  readonly within?: EntityRange;
  /** The plan of `filter` and `within`, when the caller has computed it already. */
  readonly plan?: () => QueryPlan;
  /** The least bytes that a row counts as in a page: the size of its rendered form. */
  readonly rowBytesMin?: number;
  /** Is offered each entity of the page. A service may leave it out. */
  readonly sink?: EntitySink;
}

/** Entities of one partition, neighbours in a page. */
export interface PartitionCount {
  readonly partitionKey: string;
  readonly count: number;
}

export interface EntityPage {
  /** The entities that the sink of the query has not taken. */
  readonly entities: readonly StoredEntity[];
  /** All entities of the page, those of the sink included, in order. */
  readonly partitions: readonly PartitionCount[];
  readonly next?: EntityPosition;
  readonly report: QueryReport;
}
