import { TooLargeError, ValueError } from '../../rows/model-error.js';
import { listOfPacked, packedList } from '../../rows/packed-list.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { compareKeys } from '../../rows/text-order.js';
import {
  keyOfWrite,
  pageRowsMax,
  type EncryptedNames,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';
import { keysBehind, type RowSelection } from '../../table/row-selection.js';
import { whereStored } from '../../table/filter.js';
import { isFenceKey, isFenceRow } from './fence.js';
import { reasonOf } from '../../table/failure-of-one.js';
import { shardsOfState, type MapState, type Route } from './map-state.js';
import { isContent, selectedWithType, selecting } from './shown-rows.js';

/** The map of a sharded table. */
export interface RoutingMap {
  readonly name: string;
  known(): Promise<MapState>;
}

/** Finds the shards of partitions, and writes there. */
export interface RoutedPartitions {
  readonly writesMax: number;
  /** Throws `UnknownShardError` for a shard without a table in this program. */
  shard(name: string | undefined, partitionKey?: string): TableGateway;
  route(state: MapState, partitionKey: string): Route;
  readable(partitionKey: string): Promise<TableGateway>;
  readableBy(state: MapState, partitionKey: string): Promise<TableGateway>;
  /** The given shard if it owns the partition, otherwise the shard of the current map. */
  confirmed(shard: TableGateway, partitionKey: string): Promise<TableGateway>;
  writeOne(write: RowWrite): Promise<WriteResult>;
  /** Writes of one partition, at most `writesMax`. */
  write(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly WriteResult[]>;
}

/**
 * All shards of a map as one table: writes go to the shard that accepts writes of the partition, as
 * a transaction with its owner row where the map is stored. Costs beyond those of a table:
 *
 * - A write with an outdated map is refused by the shard, unseen by the caller, and repeated after
 *   one point read. The first write of a partition takes seven more requests.
 * - A transaction has at most 99 writes.
 * - A read that finds no row checks whether the shard owns the partition, with one more point read.
 * - A page of one partition, given by its PartitionKey, is one range read. Every other page reads
 *   from each shard.
 */
export class ShardedTable implements TableGateway {
  readonly table: string;
  readonly encrypts: EncryptedNames | undefined;
  readonly #map: RoutingMap;
  readonly #partitions: RoutedPartitions;

  /** `shards`: their tables, all of which encrypt the same. */
  constructor(map: RoutingMap, partitions: RoutedPartitions, shards: readonly TableGateway[]) {
    this.table = map.name;
    this.encrypts = shards[0]?.encrypts;
    this.#map = map;
    this.#partitions = partitions;
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    const { partitionKey } = key;
    const shard = await this.#partitions.readable(partitionKey);
    const row = await shard.get(key, select);
    if (row !== undefined) return row;
    // Missing rows on a former owner prove nothing.
    const owner = await this.#partitions.confirmed(shard, partitionKey);
    return owner === shard ? undefined : owner.get(key, select);
  }

  async write(write: RowWrite): Promise<WriteResult> {
    refuseFenceKeys([write]);
    try {
      return await this.#partitions.writeOne(write);
    } catch (error) {
      throw reasonOf(error);
    }
  }

  async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    const { writesMax } = this.#partitions;
    if (writes.length > writesMax) {
      throw new TooLargeError(
        `a transaction of shards holds at most ${writesMax} writes, not ${writes.length}`,
      );
    }
    const [first] = writes;
    if (first === undefined) throw new ValueError('a transaction needs at least one write');
    refuseFenceKeys(writes);
    return this.#partitions.write(keyOfWrite(first).partitionKey, writes);
  }

  async page(query: RowQuery): Promise<RowPage> {
    const after = query.cursor === undefined ? undefined : keyOfCursor(query.cursor);
    const { partitionKey } = query;
    if (typeof partitionKey !== 'string') return this.#pageOfAll(query, after);
    const shard = await this.#partitions.readable(partitionKey);
    const rowKey = after === undefined ? query.rowKey : keysBehind(query.rowKey, after.rowKey);
    const { rows, isWhole } = await pageFrom(shard, { ...query, rowKey }, query.limit);
    const last = rows.at(-1);
    const shown = rows.filter((row) => !isFenceRow(row)).map(selecting(query.select));
    return isWhole || last === undefined
      ? { rows: shown }
      : { rows: shown, cursor: cursorOf(last) };
  }

  /**
   * Reads a share of the page from every shard; the page is what can be put in order of it. A row
   * is returned from the current shard of its partition only; copies elsewhere are not. A shard is
   * read again when it has taken a partition over that was found meanwhile: it may not have had it.
   */
  async #pageOfAll(query: RowQuery, after: RowKey | undefined): Promise<RowPage> {
    const { limit = pageRowsMax } = query;
    const state = await this.#map.known();
    const shards = shardsOfState(state).map((name) => this.#partitions.shard(name));
    const rest = after === undefined ? query : { ...query, ...rowsAfter(query, after) };
    const share = Math.min(limit, Math.max(shareMin, Math.ceil(limit / shards.length)));
    const read = (shard: TableGateway) => pageFrom(shard, rest, share);
    const homes: Homes = new Map();
    let pages = await Promise.all(shards.map(read));
    // Each turn decides one more of the partitions that move.
    for (;;) {
      const takers = await this.#decide(state, homes, pages);
      if (takers.size === 0) break;
      const known = pages;
      const again = async (shard: TableGateway, at: number): Promise<ShardPage> =>
        (takers.has(shard) ? undefined : known[at]) ?? read(shard);
      pages = await Promise.all(shards.map(again));
    }
    const end = endOf(pages);
    const rows = pages.flatMap((page, at) =>
      contentUpTo(page, end).filter(({ partitionKey }) => homes.get(partitionKey) === shards[at]),
    );
    rows.sort(compareKeys);
    const shown = rows.slice(0, limit).map(selecting(query.select));
    const last = shown.length < rows.length ? shown.at(-1) : end;
    return last === undefined ? { rows: shown } : { rows: shown, cursor: cursorOf(last) };
  }

  /**
   * Decides the homes of the partitions of pages that have none yet, each once. Returns the shards
   * that have taken one of these over: their page may be from before.
   */
  async #decide(
    state: MapState,
    homes: Homes,
    pages: readonly ShardPage[],
  ): Promise<ReadonlySet<TableGateway>> {
    const end = endOf(pages);
    const found = pages.flatMap((page) => contentUpTo(page, end));
    const keys = new Set(found.map(({ partitionKey }) => partitionKey));
    const takers = new Set<TableGateway>();
    for (const partitionKey of keys) {
      if (homes.has(partitionKey)) continue;
      const { home, before } = this.#partitions.route(state, partitionKey);
      const decided = await this.#homeOf(state, partitionKey);
      homes.set(partitionKey, decided);
      const isTaken = before !== undefined && decided === this.#partitions.shard(home);
      if (isTaken && decided !== undefined) takers.add(decided);
    }
    return takers;
  }

  /** Undefined: the map has no shard for it, so the row is not of the map. */
  #homeOf(state: MapState, partitionKey: string): Promise<TableGateway | undefined> {
    const { home } = this.#partitions.route(state, partitionKey);
    if (home === undefined) return Promise.resolve(undefined);
    return this.#partitions.readableBy(state, partitionKey);
  }
}

function refuseFenceKeys(writes: readonly RowWrite[]): void {
  if (!writes.some((write) => isFenceKey(keyOfWrite(write)))) return;
  throw new ValueError('RowKeys that begin with !shard: belong to the shard map');
}

/** By partition the shard that it is read from; undefined: it is of no shard. */
type Homes = Map<string, TableGateway | undefined>;

interface ShardPage {
  readonly rows: readonly StoredRow[];
  readonly isWhole: boolean;
}

/** At least one row, unless there is none: skips empty pages. */
async function pageFrom(
  shard: TableGateway,
  { select, ...query }: RowQuery,
  limit: number | undefined,
): Promise<ShardPage> {
  let cursor: string | undefined;
  for (;;) {
    const page = await shard.page({
      ...query,
      select: selectedWithType(select),
      limit,
      cursor,
    });
    if (page.rows.length > 0 || page.cursor === undefined) {
      return { rows: page.rows, isWhole: page.cursor === undefined };
    }
    ({ cursor } = page);
  }
}

/** What a page has of the map's partitions, up to a key. */
function contentUpTo({ rows }: ShardPage, end: RowKey | undefined): readonly StoredRow[] {
  return rows.filter((row) => isContent(row) && (end === undefined || compareKeys(row, end) <= 0));
}

/** The key up to which every shard has been read; undefined: all were read to their end. */
function endOf(pages: readonly ShardPage[]): RowKey | undefined {
  let end: RowKey | undefined;
  for (const { rows, isWhole } of pages) {
    const last = isWhole ? undefined : rows.at(-1);
    if (last === undefined) continue;
    if (end === undefined || compareKeys(last, end) < 0) end = last;
  }
  return end;
}

/** The rows of several partitions that follow one. */
function rowsAfter({ partitionKey, where }: RowQuery, after: RowKey): RowSelection {
  const partition = { type: 'String', value: after.partitionKey } as const;
  const inPartition = whereStored('PartitionKey', 'eq', partition).and(
    whereStored('RowKey', 'gt', { type: 'String', value: after.rowKey }),
  );
  const behind = whereStored('PartitionKey', 'gt', partition).or(inPartition);
  return {
    partitionKey: keysBehind(partitionKey, after.partitionKey, true),
    where: where === undefined ? behind : where.and(behind),
  };
}

/** Short pages would take more requests. */
const shareMin = 100;

function cursorOf({ partitionKey, rowKey }: RowKey): string {
  return packedList([partitionKey, rowKey]);
}

function keyOfCursor(cursor: string): RowKey {
  const [partitionKey, rowKey] = listOfPacked(cursor);
  if (typeof partitionKey === 'string' && typeof rowKey === 'string')
    return { partitionKey, rowKey };
  throw new ValueError('the text is no cursor of a query over shards');
}
