import { ValueError } from '../../rows/model-error.js';
import { listOfPacked, packedList } from '../../rows/packed-list.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { compareKeys, compareTexts } from '../../rows/text-order.js';
import { pageRowsMax } from '../../table/gateway.js';
import type { RowPage, RowQuery, TableGateway, WriteResult } from '../../table/gateway.js';
import { whereKeys } from '../../table/row-selection.js';
import { endOf, homePages, joinedPage, pageFrom, rowsAfter, type PagePart } from './home-pages.js';
import type { PartitionHomes } from './partition-homes.js';
import { isContent, selectedWithType, selecting } from './shown-rows.js';

/**
 * The shards of a map, each readable as a table of its own. A query that reads all of them from
 * beginning to end gets each row exactly once; several queries may run at the same time. A view
 * decides which shard has a moving partition when it first meets that partition, and keeps to it:
 * take new views for later queries.
 */
export interface ShardViews {
  /** The shards that may have rows, sorted. */
  readonly shards: readonly string[];
  /**
   * The shards that may have rows of a routed text: two while it moves, and none for some texts of
   * list maps.
   */
  shardsOf(text: string): readonly string[];
  /** Throws `UnknownShardError` for a shard without a table in this program. */
  view(shard: string): TableGateway;
}

/** The state that the views of a map share. */
export interface ViewedShards {
  readonly homes: PartitionHomes;
  /** Throws `UnknownShardError` for a shard without a table in this program. */
  readonly tableOf: (shard: string) => TableGateway;
}

/**
 * A read-only view of the rows that a shard holds for a map: the rows of partitions whose home it
 * is. Rows that the map itself has written, and partitions that another shard has taken over, are
 * left out.
 *
 * A query may have passed the position of a partition in its new shard before that shard took the
 * partition over. The view of the old shard then returns the rows of the new shard, which costs a
 * further range read for each page with that partition.
 */
export class ShardView implements TableGateway {
  readonly table: string;
  readonly #shard: string;
  readonly #shards: ViewedShards;

  constructor(shard: string, shards: ViewedShards) {
    this.table = shards.tableOf(shard).table;
    this.#shard = shard;
    this.#shards = shards;
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    const { homes, tableOf } = this.#shards;
    await homes.decide(this.#shard, key.partitionKey);
    const source = homes.sourceOf(this.#shard, key.partitionKey);
    if (source === undefined) return undefined;
    const row = await tableOf(source).get(key, selectedWithType(select));
    return row !== undefined && isContent(row) ? selecting(select)(row) : undefined;
  }

  async page(query: RowQuery): Promise<RowPage> {
    const { homes, tableOf } = this.#shards;
    const position = query.cursor === undefined ? {} : positionOfCursor(query.cursor);
    const { base, cursor } = position;
    const rest = base === undefined ? query : { ...query, ...rowsAfter(query, base) };
    const shard = { name: this.#shard, table: tableOf(this.#shard) };
    const own = await homePages([shard], homes, { ...rest, cursor });
    const end = endOf(own.map(({ page }) => page));
    const adopted = await this.#adopted(query, position.after, end);
    const { rows, last } = joinedPage([...own, ...adopted], query);
    if (last === undefined) return { rows };
    // The shard's cursor points behind its whole page, so it fits only when all of that page is
    // shown. It saves the shard the search for the place.
    const isWhole = end !== undefined && compareKeys(last, end) === 0;
    const next = isWhole ? { after: end, base, cursor: own[0]?.page.cursor } : positionBehind(last);
    return { rows, cursor: cursorOf(next) };
  }

  /**
   * The first rows of adopted partitions between two keys, in the order of the partitions: of as
   * many as a page can hold.
   */
  async #adopted(
    query: RowQuery,
    after: RowKey | undefined,
    end: RowKey | undefined,
  ): Promise<readonly PagePart[]> {
    const { homes, tableOf } = this.#shards;
    const { limit = pageRowsMax } = query;
    const partitions = homes
      .adoptedBy(this.#shard)
      .filter(({ partitionKey: key }) => isBetween(key, after, end))
      .toSorted((left, right) => compareTexts(left.partitionKey, right.partitionKey));
    const parts: PagePart[] = [];
    let rows = 0;
    for (const { partitionKey, source } of partitions) {
      const page = await pageFrom(tableOf(source), ofPartition(query, partitionKey, after));
      parts.push({ page, isGiven: () => true });
      rows += page.rows.filter(isContent).length;
      // There are more rows than fit into the page, so it ends before the partitions that were not
      // read.
      if (rows > limit || page.cursor !== undefined) break;
    }
    return parts;
  }

  write(): Promise<WriteResult> {
    return Promise.reject(this.#onlyRead());
  }

  transact(): Promise<readonly WriteResult[]> {
    return Promise.reject(this.#onlyRead());
  }

  #onlyRead(): ValueError {
    return new ValueError(`${this.table} is read as one of several shards; write through the map`);
  }
}

function isBetween(key: string, after: RowKey | undefined, end: RowKey | undefined): boolean {
  if (after !== undefined && key < after.partitionKey) return false;
  return end === undefined || key <= end.partitionKey;
}

/** The query for the rows of one partition behind a key. */
function ofPartition(query: RowQuery, partitionKey: string, after: RowKey | undefined): RowQuery {
  const { partitionKey: keys, where } = query;
  const selected = keys === undefined ? undefined : whereKeys('PartitionKey', keys);
  const both =
    selected === undefined ? where : where === undefined ? selected : selected.and(where);
  const whole: RowQuery = { ...query, partitionKey, where: both, cursor: undefined };
  if (after?.partitionKey !== partitionKey) return whole;
  return { ...whole, ...rowsAfter(whole, after) };
}

/** Where the next page of a view begins. */
interface ViewPosition {
  /** The last key that was given. */
  readonly after?: RowKey | undefined;
  /** The key behind which the shard is read; undefined: from its beginning. */
  readonly base?: RowKey | undefined;
  /** The shard's cursor of that read. */
  readonly cursor?: string | undefined;
}

function positionBehind(key: RowKey): ViewPosition {
  return { after: key, base: key };
}

function cursorOf({ after, base, cursor }: ViewPosition): string {
  return packedList([after?.partitionKey, after?.rowKey, base?.partitionKey, base?.rowKey, cursor]);
}

function positionOfCursor(text: string): ViewPosition {
  const [partitionKey, rowKey, basePartition, baseRow, cursor] = listOfPacked(text);
  const after = keyOfParts(partitionKey, rowKey);
  const base = keyOfParts(basePartition, baseRow);
  const isCursor = typeof cursor === 'string';
  if (after !== undefined && (isCursor || base !== undefined)) {
    return { after, base, cursor: isCursor ? cursor : undefined };
  }
  throw new ValueError('the text is no cursor of a query over shards');
}

function keyOfParts(partitionKey: unknown, rowKey: unknown): RowKey | undefined {
  if (typeof partitionKey !== 'string' || typeof rowKey !== 'string') return undefined;
  return { partitionKey, rowKey };
}
