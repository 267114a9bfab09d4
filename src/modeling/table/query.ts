import { ModelError, ValueError } from '../rows/model-error.js';
import type { StoredRow } from '../rows/row.js';
import { fingerprintOf, readCursor, writeCursor } from './cursor.js';
import { pageLimitOf, pageRowsMax, type TableGateway } from './gateway.js';
import type { QueryPlan } from './query-plan.js';

/** One page of a query. */
export interface QueryPage<T> {
  /** May be empty although there is a cursor. */
  readonly items: readonly T[];
  /** Opaque, for this query only; absent at the end. */
  readonly cursor?: string;
}

/** Selects a page. */
export interface PageOptions {
  /** The cursor of an earlier page of the same query. */
  readonly cursor?: string;
  /**
   * Maximum items of the page, from 1; 1000 when absent. Less is a `ValueError`. Queries of one
   * filter read at most 1000.
   */
  readonly limit?: number;
}

/**
 * A query that has not run yet. Its plan shows what the service will read. Every way of running it
 * starts from the beginning; only a cursor resumes.
 */
export abstract class Query<T> implements AsyncIterable<T> {
  readonly plan: QueryPlan;
  #requests = 0;

  protected constructor(plan: QueryPlan) {
    this.plan = plan;
  }

  /** Requests that this query has made so far. */
  get requests(): number {
    return this.#requests;
  }

  /** One page. Throws `ValueError` for a cursor of another query, and for a limit below 1. */
  abstract page(options?: PageOptions): Promise<QueryPage<T>>;

  /** All items in order. Pages are read as needed, empty ones skipped. */
  [Symbol.asyncIterator](): AsyncIterator<T, void, undefined> {
    return this.items(Number.POSITIVE_INFINITY);
  }

  /** The first `count` items; fewer only when there are no more. */
  async first(count: number): Promise<T[]> {
    const items: T[] = [];
    if (count <= 0) return items;
    for await (const item of this.items(count)) {
      items.push(item);
      if (items.length >= count) break;
    }
    return items;
  }

  /** All items. Throws `ModelError` when there are more than `max`, after it has read that many. */
  async toArray({ max }: { readonly max: number }): Promise<T[]> {
    const items = await this.first(max + 1);
    if (items.length <= max) return items;
    throw new ModelError(
      `the query has more than ${max} items; iterate over it, or ask for pages with their cursors`,
    );
  }

  /** All items in order. The caller takes at most `wanted`. */
  protected abstract items(wanted: number): AsyncGenerator<T, void, undefined>;

  /** Must be called for each request. */
  protected counted(): void {
    this.#requests += 1;
  }
}

/** Makes an item of a row; undefined skips the row. */
export type Decode<T> = (row: StoredRow) => T | undefined;

/** Consecutive empty pages with an unchanged cursor before the query fails. */
const standstillsMax = 100;

/** A query with one filter: of one partition, or of the whole table. */
export class RowsQuery<T> extends Query<T> {
  readonly #table: TableGateway;
  readonly #decode: Decode<T>;
  readonly #fingerprint: string;

  constructor(table: TableGateway, plan: QueryPlan, decode: Decode<T>) {
    super(plan);
    this.#table = table;
    this.#decode = decode;
    this.#fingerprint = fingerprintOf([table.table, ...plan.filters, String(plan.select)]);
  }

  /** One range read. */
  async page({ cursor, limit = pageRowsMax }: PageOptions = {}): Promise<QueryPage<T>> {
    const { reads, select } = this.plan;
    const rowsMax = pageLimitOf(limit);
    this.counted();
    const page = await this.#table.page({
      ...reads[0],
      limit: rowsMax,
      select,
      cursor: cursor === undefined ? undefined : this.#token(cursor),
    });
    const items: T[] = [];
    for (const row of page.rows) {
      const item = this.#decode(row);
      if (item !== undefined) items.push(item);
    }
    if (page.cursor === undefined) return { items };
    return {
      items,
      cursor: writeCursor(this.#fingerprint, { kind: 'token', token: page.cursor }),
    };
  }

  protected async *items(wanted: number): AsyncGenerator<T, void, undefined> {
    let cursor: string | undefined;
    let left = wanted;
    let standstills = 0;
    do {
      const limit = Math.max(1, Math.min(left, pageRowsMax));
      const page = await this.page(cursor === undefined ? { limit } : { limit, cursor });
      yield* page.items;
      left -= page.items.length;
      standstills = page.cursor === cursor ? standstills + 1 : 0;
      const isRepeated = standstills > 0 && page.items.length > 0;
      if (page.cursor !== undefined && (isRepeated || standstills > standstillsMax)) {
        throw new ModelError('the service gives the same page again and again');
      }
      cursor = page.cursor;
    } while (cursor !== undefined && left > 0);
  }

  #token(cursor: string): string {
    const position = readCursor(this.#fingerprint, cursor);
    if (position.kind === 'token') return position.token;
    throw new ValueError('the cursor belongs to another query');
  }
}
