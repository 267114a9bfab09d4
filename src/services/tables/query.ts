import type { MemoryBudget } from '../../base/async/memory-budget.js';
import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Candidate, Store, Decision } from '../../kv/store.js';
import { stringAt } from '../../kv/tuple.js';
import type { StoredEntity } from '../../model/edm/value.js';
import { pageSize } from './page-size.js';
import { PartitionCounter } from './partition-counter.js';
import { planQuery, type QueryPlan } from './plan.js';
import { compilePredicate, type Predicate } from './predicate.js';
import { RowSource, type RowPage, type RowReader } from './row-source.js';
import { yieldIfBusy, Slice } from '../../base/async/slice.js';
import type { EntityPage, EntityPosition, EntityQuery, EntitySink } from './types.js';

/** The cost limits of one page of results (table-service §6). */
export interface QueryBudget {
  /**
   * Stored bytes in the page, or `rowBytesMin` for smaller rows; the first row is always returned.
   */
  readonly bytesMax: number;
  /** Milliseconds of reading; the page ends when they are over. */
  readonly timeMsMax: number;
  /** Rows read after a full page to find the next match. */
  readonly lookaheadRowsMax: number;
}

export const defaultQueryBudget: QueryBudget = {
  bytesMax: 4 << 20,
  timeMsMax: 5000,
  lookaheadRowsMax: 1000,
};

export interface QueryContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly budget: QueryBudget;
  readonly memory: MemoryBudget;
}

/** The rows that one read visits before yielding to others. */
const sliceRowsMax = 1024;
const sliceBytesMax = 4 << 20;
/** The weight of rows between two checks of the clock: much less than a slice. */
const weightBetweenLooks = 512;
/** The weight of reading a row, without its predicate. */
const rowWeight = 3;

/**
 * One page of the entities of the table with this prefix, in key order. Reads only the intervals of
 * the plan. `next` is the next matching entity if known, else the position to continue reading; it
 * is absent exactly when nothing is left to read.
 */
export async function queryEntities(
  context: QueryContext,
  tablePrefix: Bytes,
  query: EntityQuery,
): Promise<EntityPage> {
  const { store, clock, budget, memory } = context;
  await yieldIfBusy(clock);
  const started = clock.monotonicMs();
  const slice = new Slice(clock);
  const top = pageSize(query.top);
  const plan = query.plan?.() ?? planQuery(query.filter, query.within);
  await slice.endOnTime();
  const rows = new RowSource(store, tablePrefix, plan.intervals, query.from);
  const page = new PageBuilder(plan, {
    tablePrefix,
    top,
    budget,
    slice,
    memory,
    rowBytesMin: query.rowBytesMin ?? 0,
    sink: query.sink,
  });
  if (top === 0) return page.finish(rows.rangesRead);
  for (;;) {
    await slice.endOnTime();
    const read = await rows.next(page);
    if (read === undefined || page.take(read)) return page.finish(rows.rangesRead);
    if (clock.monotonicMs() - started >= budget.timeMsMax) page.close();
  }
}

interface PageOptions {
  readonly tablePrefix: Bytes;
  readonly top: number;
  readonly budget: QueryBudget;
  readonly slice: Slice;
  readonly memory: MemoryBudget;
  readonly rowBytesMin: number;
  readonly sink: EntitySink | undefined;
}

/** Builds one page of results from rows. */
class PageBuilder implements RowReader {
  readonly #plan: QueryPlan;
  readonly #predicate: Predicate | undefined;
  readonly #keys: KeyReader;
  readonly #top: number;
  readonly #budget: QueryBudget;
  readonly #entities: StoredEntity[] = [];
  readonly #partitions = new PartitionCounter();
  /** Absent as soon as it has refused an entity, because entities are in order. */
  #sink: EntitySink | undefined;
  lastUsed: Required<EntityPosition> | undefined;
  #next: Required<EntityPosition> | undefined;
  #taken = 0;
  #bytes = 0;
  #keyBytes = 0;
  #rowsScanned = 0;
  /** The rows left for the lookahead; the row after them becomes `next`. */
  #rowsLeft = Infinity;
  #sliceRows = 0;
  #sliceBytes = 0;
  readonly #slice: Slice;
  readonly #memory: MemoryBudget;
  readonly #rowBytesMin: number;
  readonly #rowsBetweenLooks: number;
  #rowsToLook: number;

  constructor(plan: QueryPlan, options: PageOptions) {
    const { tablePrefix, top, budget, slice, memory, rowBytesMin, sink } = options;
    this.#plan = plan;
    this.#predicate = plan.residual === undefined ? undefined : compilePredicate(plan.residual);
    this.#keys = new KeyReader(tablePrefix);
    this.#top = top;
    this.#budget = budget;
    this.#slice = slice;
    this.#memory = memory;
    this.#rowBytesMin = rowBytesMin;
    this.#sink = sink;
    const weight = this.#predicate?.weight ?? 1;
    this.#rowsBetweenLooks = Math.max(1, Math.floor(weightBetweenLooks / (rowWeight + weight)));
    this.#rowsToLook = this.#rowsBetweenLooks;
  }

  /** Ends the page: the next row starts the next page, whether it matches or not. */
  close(): void {
    this.#rowsLeft = 0;
  }

  /**
   * Takes the rows of the page. Stops at the first row of the next page, and at the end of a slice.
   */
  readonly filter = (row: Candidate): Decision => {
    if (this.#rowsLeft === 0) return this.#stopBefore(row);
    if (this.#isSliceOver()) return 'stop';
    this.#sliceRows += 1;
    this.#rowsToLook -= 1;
    this.#sliceBytes += row.valueLength;
    this.#rowsScanned += 1;
    this.#rowsLeft -= 1;
    if (!this.#matches(row)) return 'skip';
    const bytes = this.#bytes + Math.max(row.valueLength, this.#rowBytesMin);
    const isFull = this.#taken > 0 && bytes > this.#budget.bytesMax;
    if (this.#taken === this.#top || isFull) return this.#stopBefore(row);
    this.#bytes = bytes;
    this.#taken += 1;
    if (this.#taken === this.#top) this.#rowsLeft = this.#budget.lookaheadRowsMax;
    if (this.#sink?.accepts(row.valueLength) === true) return 'use';
    this.#sink = undefined;
    return 'take';
  };

  /** Hands a row to the sink. */
  readonly use = (row: Candidate): void => {
    const position = this.#keys.position(row.key);
    const { partitionKey, rowKey } = position;
    this.#sink?.take({ partitionKey, rowKey, version: row.version, bag: row.value });
    this.#partitions.add(partitionKey);
    this.#keyBytes += row.key.length;
    this.lastUsed = position;
  };

  /** Adds the rows of one read; returns true when the page is complete. */
  take(read: RowPage): boolean {
    for (const { key, version, value: bag } of read.entries) {
      const { partitionKey, rowKey } = this.#keys.position(key);
      this.#entities.push({ partitionKey, rowKey, version, bag });
      this.#partitions.add(partitionKey);
      this.#keyBytes += key.length;
    }
    this.#memory.hold(this.#bytes + this.#keyBytes);
    this.#rowsScanned += read.pointsMissed;
    this.#sliceRows = 0;
    this.#sliceBytes = 0;
    this.#rowsToLook = this.#rowsBetweenLooks;
    return this.#next !== undefined;
  }

  finish(ranges: number | undefined): EntityPage {
    const { planClass, intervals } = this.#plan;
    const report = {
      planClass,
      intervals: intervals.length,
      rowsScanned: this.#rowsScanned,
      rowsReturned: this.#taken,
      ...(ranges !== undefined && { ranges }),
    };
    const page = { entities: this.#entities, partitions: this.#partitions.counts, report };
    return this.#next === undefined ? page : { ...page, next: this.#next };
  }

  /** Never true before the first row of a slice, so that each slice makes progress. */
  #isSliceOver(): boolean {
    if (this.#sliceRows >= sliceRowsMax || this.#sliceBytes > sliceBytesMax) return true;
    if (this.#rowsToLook > 0) return false;
    this.#rowsToLook = this.#rowsBetweenLooks;
    return this.#slice.isOver;
  }

  #stopBefore(row: Candidate): Decision {
    this.#next = this.#keys.position(row.key);
    return 'stop';
  }

  #matches(row: Candidate): boolean {
    const predicate = this.#predicate;
    if (predicate === undefined) return true;
    if (!predicate.readsKeys) return predicate.test('', '', row.version, row.value);
    const { partitionKey, rowKey } = this.#keys.position(row.key);
    return predicate.test(partitionKey, rowKey, row.version, row.value);
  }
}

/**
 * Decodes the two keys of a row. Rows of one partition are neighbours, so its key is decoded once.
 */
class KeyReader {
  readonly #tablePrefixLength: number;
  #prefix: Bytes | undefined;
  #partitionKey = '';

  constructor(tablePrefix: Bytes) {
    this.#tablePrefixLength = tablePrefix.length;
  }

  position(key: Bytes): Required<EntityPosition> {
    const prefix = this.#prefix;
    if (prefix === undefined || !startsWith(key, prefix)) {
      // A copy: the key may be valid only during the filter call.
      this.#prefix = Buffer.from(key.subarray(0, partitionPrefixLength(key)));
      this.#partitionKey = stringAt(key, this.#tablePrefixLength);
    }
    const rowKey = stringAt(key, this.#prefix?.length ?? 0);
    return { partitionKey: this.#partitionKey, rowKey };
  }
}

/** A loop, because prefixes are short and a native comparison needs a view of the key. */
function startsWith(key: Bytes, prefix: Bytes): boolean {
  const { length } = prefix;
  if (key.length <= length) return false;
  for (let index = 0; index < length; index += 1) if (key[index] !== prefix[index]) return false;
  return true;
}
