import type { ReadRoom } from '../../base/async/read-room.js';
import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Candidate, Store, Decision } from '../../kv/store.js';
import { stringAt } from '../../kv/tuple.js';
import type { StoredEntity } from '../../model/edm/value.js';
import { pageSize } from './page-size.js';
import { planQuery, type QueryPlan } from './plan.js';
import { compilePredicate, type Predicate } from './predicate.js';
import { RowSource, type RowPage } from './row-source.js';
import { roomInTurn, Slice } from '../../base/async/slice.js';
import type { EntityPage, EntityPosition, EntityQuery } from './types.js';

/** What one page of results may cost (table-service §6). */
export interface QueryBudget {
  /** Stored values in the page, or what their rows count as; the first is always returned. */
  readonly bytesMax: number;
  /** Milliseconds of reading, after which the page ends where it is. */
  readonly timeMsMax: number;
  /** Rows read behind a full page, to name the next one that matches. */
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
  readonly room: ReadRoom;
}

/** What one read looks at, at most, before others get their turn. */
const sliceRowsMax = 1024;
const sliceBytesMax = 4 << 20;
/** Weight of rows judged between two looks at the clock: well within a slice. */
const weightBetweenLooks = 512;
/** Weight of reading and taking a row, beside that of its predicate. */
const rowWeight = 3;

/**
 * One page of the entities of the table with this prefix, in key order. Reads only the intervals of
 * the plan. `next` is the next matching entity where that is known, else the next one to look at;
 * it is absent exactly when nothing is left to read.
 */
export async function queryEntities(
  context: QueryContext,
  tablePrefix: Bytes,
  query: EntityQuery,
): Promise<EntityPage> {
  const { store, clock, budget, room } = context;
  await roomInTurn(clock);
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
    room,
    rowBytesMin: query.rowBytesMin ?? 0,
  });
  if (top === 0) return page.finish();
  for (;;) {
    await slice.endOnTime();
    const read = await rows.next(page.filter);
    if (read === undefined || page.take(read)) return page.finish();
    if (clock.monotonicMs() - started >= budget.timeMsMax) page.close();
  }
}

interface PageOptions {
  readonly tablePrefix: Bytes;
  readonly top: number;
  readonly budget: QueryBudget;
  readonly slice: Slice;
  readonly room: ReadRoom;
  readonly rowBytesMin: number;
}

/** Fills one page of results from the rows read. */
class PageBuilder {
  readonly #plan: QueryPlan;
  readonly #predicate: Predicate | undefined;
  readonly #keys: KeyReader;
  readonly #top: number;
  readonly #budget: QueryBudget;
  readonly #entities: StoredEntity[] = [];
  #next: Required<EntityPosition> | undefined;
  #taken = 0;
  #bytes = 0;
  #keyBytes = 0;
  #rowsScanned = 0;
  /** Rows that may still be looked at; the next one behind them becomes `next`. */
  #rowsLeft = Infinity;
  #sliceRows = 0;
  #sliceBytes = 0;
  readonly #slice: Slice;
  readonly #room: ReadRoom;
  readonly #rowBytesMin: number;
  readonly #rowsBetweenLooks: number;
  #rowsToLook: number;

  constructor(plan: QueryPlan, options: PageOptions) {
    const { tablePrefix, top, budget, slice, room, rowBytesMin } = options;
    this.#plan = plan;
    this.#predicate = plan.residual === undefined ? undefined : compilePredicate(plan.residual);
    this.#keys = new KeyReader(tablePrefix);
    this.#top = top;
    this.#budget = budget;
    this.#slice = slice;
    this.#room = room;
    this.#rowBytesMin = rowBytesMin;
    const weight = this.#predicate?.weight ?? 1;
    this.#rowsBetweenLooks = Math.max(1, Math.floor(weightBetweenLooks / (rowWeight + weight)));
    this.#rowsToLook = this.#rowsBetweenLooks;
  }

  /** The next row starts the next page, whatever it is. */
  close(): void {
    this.#rowsLeft = 0;
  }

  /** Takes what belongs to the page. Stops at the row that starts the next, and between slices. */
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
    return 'take';
  };

  /** Adds the rows taken in one read; says whether the page is complete. */
  take(read: RowPage): boolean {
    for (const { key, version, value: bag } of read.entries) {
      const { partitionKey, rowKey } = this.#keys.position(key);
      this.#entities.push({ partitionKey, rowKey, version, bag });
      this.#keyBytes += key.length;
    }
    this.#room.hold(this.#bytes + this.#keyBytes);
    this.#rowsScanned += read.pointsMissed;
    this.#sliceRows = 0;
    this.#sliceBytes = 0;
    this.#rowsToLook = this.#rowsBetweenLooks;
    return this.#next !== undefined;
  }

  finish(): EntityPage {
    const { planClass, intervals } = this.#plan;
    const report = {
      planClass,
      intervals: intervals.length,
      rowsScanned: this.#rowsScanned,
      rowsReturned: this.#entities.length,
    };
    const page = { entities: this.#entities, report };
    return this.#next === undefined ? page : { ...page, next: this.#next };
  }

  /** Never before the first row of a slice, so that each gets somewhere. */
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

/** Reads the two keys of a row. Rows of one partition come together, so its key is read once. */
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
      // A copy: the key may be one that is only there while it is judged.
      this.#prefix = Buffer.from(key.subarray(0, partitionPrefixLength(key)));
      this.#partitionKey = stringAt(key, this.#tablePrefixLength);
    }
    const rowKey = stringAt(key, this.#prefix?.length ?? 0);
    return { partitionKey: this.#partitionKey, rowKey };
  }
}

/** A loop, because prefixes are short and a native comparison needs a view of the key first. */
function startsWith(key: Bytes, prefix: Bytes): boolean {
  const { length } = prefix;
  if (key.length <= length) return false;
  for (let index = 0; index < length; index += 1) if (key[index] !== prefix[index]) return false;
  return true;
}
