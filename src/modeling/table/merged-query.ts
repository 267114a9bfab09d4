import { requireCounts } from '../definition/count.js';
import type { StoredRow } from '../rows/row.js';
import { compareTexts } from '../rows/text-order.js';
import { fingerprintOf, readCursor, writeCursor, type CursorPosition } from './cursor.js';
import { Gate } from '../../base/async/gate.js';
import { pageLimitOf, pageRowsMax, type RowPage, type TableGateway } from './gateway.js';
import { Query, type Decode, type PageOptions, type QueryPage } from './query.js';
import type { QueryPlan } from './query-plan.js';
import { keysBehind, odataOfSelection, type RowSelection } from './row-selection.js';

/**
 * The order of rows from several partitions. `key`: by PartitionKey, then by RowKey, as the service
 * orders them. `row-key`: by RowKey, then by PartitionKey, as if they were one partition.
 */
export type MergeOrder = 'key' | 'row-key';

/** How several partitions are read and merged. */
export interface MergedOptions {
  readonly order: MergeOrder;
  /** Concurrent requests. */
  readonly concurrency: number;
}

/** A partition of a merged query. */
interface Source {
  readonly partitionKey: string;
  readonly read: RowSelection;
}

/**
 * A query of several partitions, read in parallel with at most `concurrency` requests at a time and
 * merged into one order. With `key`, that many partitions are begun ahead of the current one; with
 * `row-key`, the first page of every partition is read before the first item. Each page of a
 * partition is one range read.
 */
export class MergedQuery<T> extends Query<T> {
  readonly #table: TableGateway;
  readonly #decode: Decode<T>;
  readonly #options: MergedOptions;
  readonly #sources: readonly Source[];
  readonly #fingerprint: string;

  /** Each read of the plan is of one partition. */
  constructor(table: TableGateway, plan: QueryPlan, decode: Decode<T>, options: MergedOptions) {
    super(plan);
    requireCounts({ concurrency: options.concurrency });
    this.#table = table;
    this.#decode = decode;
    this.#options = options;
    this.#sources = plan.reads
      .flatMap((read) =>
        typeof read.partitionKey === 'string' ? [{ partitionKey: read.partitionKey, read }] : [],
      )
      .sort((left, right) => compareTexts(left.partitionKey, right.partitionKey))
      .filter(({ partitionKey }, index, all) => all[index - 1]?.partitionKey !== partitionKey);
    this.#fingerprint = fingerprintOf([
      table.table,
      options.order,
      ...this.#sources.map(({ read }) => odataOfSelection(read)),
      String(plan.select),
    ]);
  }

  /**
   * One page, full unless it is the last. Its cursor is the position of its last row: rows written
   * before that position meanwhile are not returned, and no row is returned twice.
   */
  async page({ cursor, limit = pageRowsMax }: PageOptions = {}): Promise<QueryPage<T>> {
    if (limit !== Infinity) pageLimitOf(limit);
    const from = cursor === undefined ? undefined : readCursor(this.#fingerprint, cursor);
    const items: T[] = [];
    let last: StoredRow | undefined;
    // One extra row shows whether there is another page.
    for await (const row of this.#rows(from, limit + 1)) {
      if (items.length >= limit) {
        return { items, ...(last === undefined ? {} : { cursor: this.#cursorAt(last) }) };
      }
      last = row;
      const item = this.#decode(row);
      if (item !== undefined) items.push(item);
    }
    return { items };
  }

  protected async *items(wanted: number): AsyncGenerator<T, void, undefined> {
    for await (const row of this.#rows(undefined, wanted)) {
      const item = this.#decode(row);
      if (item !== undefined) yield item;
    }
  }

  #cursorAt({ partitionKey, rowKey }: StoredRow): string {
    return writeCursor(this.#fingerprint, { kind: 'after', partitionKey, rowKey });
  }

  #rows(from: CursorPosition | undefined, wanted: number): AsyncGenerator<StoredRow, void> {
    const { order, concurrency } = this.#options;
    const after = from?.kind === 'after' ? from : undefined;
    const gate = new Gate(concurrency);
    const limit = Math.max(1, Math.min(wanted, pageRowsMax));
    const readers = this.#sources.flatMap((source) => {
      const rest = readAfter(source, order, after);
      if (rest === undefined) return [];
      return [new PartitionReader((token) => this.#read(gate, rest, limit, token))];
    });
    return order === 'key' ? chained(readers, concurrency) : merged(readers);
  }

  #read(
    gate: Gate,
    read: RowSelection,
    limit: number,
    cursor: string | undefined,
  ): Promise<RowPage> {
    const { select } = this.plan;
    return gate.run(() => {
      this.counted();
      return this.#table.page({ ...read, limit, select, cursor });
    });
  }
}

type After = Extract<CursorPosition, { readonly kind: 'after' }>;

/** The remaining rows of a partition; undefined when there are none. */
function readAfter(
  { partitionKey, read }: Source,
  order: MergeOrder,
  after: After | undefined,
): RowSelection | undefined {
  if (after === undefined) return read;
  const side = compareTexts(partitionKey, after.partitionKey);
  if (order === 'key' && side !== 0) return side < 0 ? undefined : read;
  // Rows with this RowKey were returned for the partitions up to that of the last row.
  const isNext = side > 0;
  return { ...read, rowKey: keysBehind(read.rowKey, after.rowKey, isNext) };
}

/** Reads the rows of one partition, one by one. */
class PartitionReader {
  readonly #read: (token: string | undefined) => Promise<RowPage>;
  #rows: readonly StoredRow[] = [];
  #at = 0;
  #next: Promise<RowPage> | undefined;
  /** The cursor of the page after the current one. */
  #cursor: string | undefined;
  #hasBegun = false;

  constructor(read: (token: string | undefined) => Promise<RowPage>) {
    this.#read = read;
  }

  /** Starts reading. Idempotent. */
  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#ask(undefined);
  }

  /** The next row, without consuming it; undefined at the end. */
  async peek(): Promise<StoredRow | undefined> {
    this.begin();
    while (this.#at >= this.#rows.length) {
      if (this.#next === undefined && this.#cursor !== undefined) this.#ask(this.#cursor);
      if (this.#next === undefined) return undefined;
      const page = await this.#next;
      this.#rows = page.rows;
      this.#at = 0;
      this.#next = undefined;
      this.#cursor = page.cursor;
    }
    return this.#rows[this.#at];
  }

  skip(): void {
    this.#at += 1;
  }

  #ask(token: string | undefined): void {
    const page = this.#read(token);
    // `peek` reports the failure. Without a later `peek`, it must not count as unhandled.
    page.catch(() => undefined);
    this.#next = page;
  }
}

async function* chained(
  readers: readonly PartitionReader[],
  ahead: number,
): AsyncGenerator<StoredRow, void> {
  for (const [index, reader] of readers.entries()) {
    for (const next of readers.slice(index, index + ahead)) next.begin();
    for (let row = await reader.peek(); row !== undefined; row = await reader.peek()) {
      reader.skip();
      yield row;
    }
  }
}

/** Searches linearly: up to some hundred partitions, requests dominate. */
async function* merged(readers: readonly PartitionReader[]): AsyncGenerator<StoredRow, void> {
  for (const reader of readers) reader.begin();
  let open = [...readers];
  const heads = new Map<PartitionReader, StoredRow>();
  for (;;) {
    const lacking = open.filter((reader) => !heads.has(reader));
    const found = await Promise.all(lacking.map((reader) => reader.peek()));
    lacking.forEach((reader, index) => {
      const row = found[index];
      if (row !== undefined) heads.set(reader, row);
    });
    open = open.filter((reader) => heads.has(reader));
    const least = leastOf(open, heads);
    if (least === undefined) return;
    const row = heads.get(least);
    heads.delete(least);
    least.skip();
    if (row !== undefined) yield row;
  }
}

/** Readers are in partition order, so the first of equal RowKeys is the one to take. */
function leastOf(
  readers: readonly PartitionReader[],
  heads: ReadonlyMap<PartitionReader, StoredRow>,
): PartitionReader | undefined {
  let least: PartitionReader | undefined;
  let leastKey = '';
  for (const reader of readers) {
    const rowKey = heads.get(reader)?.rowKey ?? '';
    if (least !== undefined && rowKey >= leastKey) continue;
    least = reader;
    leastKey = rowKey;
  }
  return least;
}
