import { setImmediate } from 'node:timers/promises';
import type { Bytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { partitionPrefixLength } from '../../kv/partition-prefix.js';
import type { Entry, Store } from '../../kv/store.js';
import { stringAt } from '../../kv/tuple.js';
import type { StoredEntity } from '../../wire/edm/value.js';
import { pageSize } from './page-size.js';
import { planQuery, type QueryPlan } from './plan.js';
import { compilePredicate, type Predicate } from './predicate.js';
import { RowSource, type RowPage } from './row-source.js';
import type { EntityPage, EntityPosition, EntityQuery } from './types.js';

/** What one page of results may cost (spec table-service §6). */
export interface QueryBudget {
  /** Keys and values in the page; the first entity is returned whatever its size. */
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

/** Rows that one read brings in when most are expected to be filtered out. */
const scanRowsMin = 64;
const scanRowsMax = 1024;
const scanBytesMax = 1 << 20;

/** How long reading may keep other requests of this process waiting, in milliseconds. */
const sliceMs = 5;

/**
 * One page of the entities of the table with this prefix, in key order. Reads only the intervals of
 * the plan. `next` is the next matching entity where that is known, else the next one to look at;
 * it is absent exactly when nothing is left to read.
 */
export async function queryEntities(
  context: { readonly store: Store; readonly clock: Clock; readonly budget: QueryBudget },
  tablePrefix: Bytes,
  query: EntityQuery,
): Promise<EntityPage> {
  const top = pageSize(query.top);
  const plan = planQuery(query.filter);
  const rows = new RowSource(context.store, tablePrefix, plan.intervals, query.from);
  const page = new PageBuilder(plan, tablePrefix, top, context.budget);
  if (top === 0) return page.finish();
  const { clock, budget } = context;
  const started = clock.monotonicMs();
  let sliceStarted = started;
  for (let outOfTime = false; ;) {
    const read = await rows.next(outOfTime ? nextRowOnly : page.wants());
    if (read === undefined) return page.finish();
    if (outOfTime) page.close();
    if (page.take(read)) return page.finish();
    const now = clock.monotonicMs();
    outOfTime = now - started >= budget.timeMsMax;
    if (now - sliceStarted >= sliceMs) {
      await setImmediate();
      sliceStarted = clock.monotonicMs();
    }
  }
}

const nextRowOnly = { limit: 1, bytesMax: 1 };

/** Fills one page of results from the rows read. */
class PageBuilder {
  readonly #plan: QueryPlan;
  readonly #predicate: Predicate | undefined;
  readonly #keys: KeyReader;
  readonly #top: number;
  readonly #budget: QueryBudget;
  readonly #entities: StoredEntity[] = [];
  #next: Required<EntityPosition> | undefined;
  #bytes = 0;
  #rowsScanned = 0;
  #scanLimit = scanRowsMin;
  /** Rows that may still be looked at; the next one behind them becomes `next`. */
  #rowsLeft = Infinity;

  constructor(plan: QueryPlan, tablePrefix: Bytes, top: number, budget: QueryBudget) {
    this.#plan = plan;
    this.#predicate = plan.residual === undefined ? undefined : compilePredicate(plan.residual);
    this.#keys = new KeyReader(tablePrefix);
    this.#top = top;
    this.#budget = budget;
  }

  /** How much to read next. */
  wants(): { readonly limit: number; readonly bytesMax: number } {
    // One row more than the page holds: it starts the next page.
    const missing = this.#top - this.#entities.length + 1;
    if (this.#predicate === undefined) return { limit: missing, bytesMax: this.#budget.bytesMax };
    const limit = Math.min(Math.max(missing, this.#scanLimit), scanRowsMax);
    this.#scanLimit *= 4;
    return { limit, bytesMax: scanBytesMax };
  }

  /** The next row starts the next page, whatever it is. */
  close(): void {
    this.#rowsLeft = 0;
  }

  /** Takes rows until the page is complete; says whether it is. */
  take(read: RowPage): boolean {
    let looked = 0;
    for (const entry of read.entries) {
      if (this.#rowsLeft === 0) {
        this.#next = this.#keys.position(entry);
        break;
      }
      looked += 1;
      this.#rowsLeft -= 1;
      if (this.#matches(entry)) this.#add(entry);
      if (this.#next !== undefined) break;
    }
    const pointsMissed = read.keysRead - read.entries.length;
    this.#rowsScanned += looked + pointsMissed;
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

  #matches(entry: Entry): boolean {
    const predicate = this.#predicate;
    if (predicate === undefined) return true;
    if (!predicate.readsKeys) return predicate.test('', '', entry.version, entry.value);
    const { partitionKey, rowKey } = this.#keys.position(entry);
    return predicate.test(partitionKey, rowKey, entry.version, entry.value);
  }

  #add(entry: Entry): void {
    const position = this.#keys.position(entry);
    const bytes = this.#bytes + entry.key.length + entry.value.length;
    const count = this.#entities.length;
    if (count === this.#top || (count > 0 && bytes > this.#budget.bytesMax)) {
      this.#next = position;
      return;
    }
    this.#bytes = bytes;
    const { partitionKey, rowKey } = position;
    const { version, value: bag } = entry;
    this.#entities.push({ partitionKey, rowKey, version, bag });
    if (this.#entities.length === this.#top) this.#rowsLeft = this.#budget.lookaheadRowsMax;
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

  position({ key }: Entry): Required<EntityPosition> {
    const prefix = this.#prefix;
    if (prefix === undefined || !startsWith(key, prefix)) {
      this.#prefix = key.subarray(0, partitionPrefixLength(key));
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
