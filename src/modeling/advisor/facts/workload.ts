import type { AnyDefinition } from '../../definition/entity-definition.js';
import type { AnyIndexes } from '../../patterns/indexes/index-declaration.js';
import type { IndexedDefinition, ResolvedIndex } from '../../patterns/indexes/with-indexes.js';
import type { PartitionQuery, PartitionsQuery, TableScan } from '../../table/query-plan.js';
import { checkFigure } from './figure.js';
import type { Distribution } from './distribution.js';
import { checkFacts, type FactsByName, type FactsOf } from './property-facts.js';

/** The content of a table and the operations on it, as expected or as measured. */
export interface Workload<D extends AnyDefinition, LookUp = never> {
  /** Entities in the table. */
  readonly rows: number;
  /**
   * How the entities spread over PartitionKeys. May be absent when the PartitionKey is constant, or
   * when `values` is known of every property in it.
   */
  readonly partitions?: Distribution;
  readonly properties?: FactsOf<D['properties']>;
  readonly operations: readonly Operation<D, LookUp>[];
  /** Other requests to the account per second, at the busiest time. */
  readonly otherRequestsPerSecond?: number;
}

interface RatedOperation {
  /** The name in reports; the kind when absent. */
  readonly name?: string;
  /** At the busiest time. Partitions and the account are checked against it. */
  readonly perSecond: number;
  /** Over the month. Costs are computed from it. `perSecond` when absent. */
  readonly averagePerSecond?: number;
  /**
   * The share of the operations that go to the busiest partition, 0 to 1. When absent, a partition
   * gets its share of the entities, and inserts under growing PartitionKeys go to the last one.
   */
  readonly busiest?: number;
}

/** The kinds of writes, alone or in a transaction. */
export type WriteKind = 'insert' | 'replace' | 'merge' | 'upsert' | 'delete';

interface WriteOperation<N extends string> extends RatedOperation {
  readonly kind: WriteKind;
  /**
   * Properties that a replace, merge or upsert changes. When absent: all, except those that indexes
   * are looked up by.
   */
  readonly changes?: readonly N[];
}

/** A read, a change and a write, as `update` does. */
interface UpdateOperation<N extends string> extends RatedOperation {
  readonly kind: 'update';
  /** As for a replace. */
  readonly changes?: readonly N[];
}

interface TransactionOperation extends RatedOperation {
  readonly kind: 'transaction';
  /** Entities that it writes, without index rows. */
  readonly writes: number;
  /** `insert` when absent. */
  readonly of?: WriteKind;
}

interface GetOperation extends RatedOperation {
  readonly kind: 'get';
}

interface Reading<N extends string> extends RatedOperation {
  /** Properties to read; all when absent. */
  readonly select?: readonly N[];
  /** Entities that the keys select, if it is known better than by `properties`. */
  readonly reads?: number;
  /** Entities returned; when absent, those that satisfy the condition. */
  readonly returns?: number;
  /** Entities after which the program stops reading, as `first(count)` does. */
  readonly take?: number;
}

interface QueryOperation<D extends AnyDefinition> extends Reading<keyof D['properties'] & string> {
  readonly kind: 'query';
  /** As passed to `query()`, with typical values. */
  readonly query: PartitionQuery<D> | PartitionsQuery<D>;
}

interface ScanOperation<D extends AnyDefinition> extends Reading<keyof D['properties'] & string> {
  readonly kind: 'scan';
  /** As passed to `scanTable()`. */
  readonly scan?: TableScan<D>;
}

type Rows<D extends AnyDefinition, I extends AnyIndexes<D>> = IndexedDefinition<D, I>['rows'];

/** A look-up in an index. */
type LookUpOperation<
  D extends AnyDefinition,
  I extends AnyIndexes<D>,
  N extends keyof I & string,
> = Rows<D, I>[N] extends infer Row extends AnyDefinition
  ? Reading<string> & {
      readonly kind: 'look-up';
      readonly index: N;
      /** A query over the rows of the index. When absent: one row, or one list. */
      readonly query?: PartitionQuery<Row> | PartitionsQuery<Row>;
      /**
       * Whether the entities themselves are read afterwards. When absent: of an index of lists
       * only.
       */
      readonly thenRead?: boolean;
    }
  : never;

/** A definition with any indexes. */
export interface AnyIndexed {
  readonly entity: AnyDefinition;
  readonly indexes: readonly ResolvedIndex[];
}

/** The look-ups in the indexes of a definition. */
export type LookUpOf<X extends AnyIndexed> =
  X extends IndexedDefinition<infer D, infer I>
    ? { [N in keyof I & string]: LookUpOperation<D, I, N> }[keyof I & string]
    : never;

/** One kind of operation on the table. */
export type Operation<D extends AnyDefinition, LookUp = never> =
  | WriteOperation<keyof D['properties'] & string>
  | UpdateOperation<keyof D['properties'] & string>
  | TransactionOperation
  | GetOperation
  | QueryOperation<D>
  | ScanOperation<D>
  | LookUp;

/** An operation of any definition, as the advisor reads it. */
export type AnyOperation =
  | WriteOperation<string>
  | UpdateOperation<string>
  | TransactionOperation
  | GetOperation
  | QueryOperation<AnyDefinition>
  | ScanOperation<AnyDefinition>
  | AnyLookUp;

export type AnyLookUp = Reading<string> & {
  readonly kind: 'look-up';
  readonly index: string;
  readonly query?: PartitionQuery<AnyDefinition> | PartitionsQuery<AnyDefinition>;
  readonly thenRead?: boolean;
};

export interface AnyWorkload {
  readonly rows: number;
  readonly partitions?: Distribution;
  readonly properties?: FactsByName;
  readonly operations: readonly AnyOperation[];
  readonly otherRequestsPerSecond?: number;
}

/** Throws `ValueError` for impossible figures, and for properties that do not exist. */
export function checkWorkload(workload: AnyWorkload, definition: AnyDefinition): void {
  checkFigure(workload.rows, 'rows');
  checkFigure(workload.otherRequestsPerSecond, 'otherRequestsPerSecond');
  checkFacts(workload.properties ?? {}, definition.properties, 'properties');
  workload.operations.forEach((operation, index) => {
    const where = `operations[${index}]`;
    checkFigure(operation.perSecond, `${where}.perSecond`);
    checkFigure(operation.averagePerSecond, `${where}.averagePerSecond`);
    checkFigure(operation.busiest, `${where}.busiest`, 1);
    if (operation.kind === 'transaction') checkFigure(operation.writes, `${where}.writes`);
    if (operation.kind !== 'query' && operation.kind !== 'scan' && operation.kind !== 'look-up') {
      return;
    }
    checkFigure(operation.reads, `${where}.reads`);
    checkFigure(operation.returns, `${where}.returns`);
    checkFigure(operation.take, `${where}.take`);
  });
}
