import { TooLargeError, ValueError } from '../../rows/model-error.js';
import { listOfPacked, packedList } from '../../rows/packed-list.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import {
  keyOfWrite,
  pageRowsMax,
  transactionWritesMax,
  type EncryptedNames,
  type RowPage,
  type RowQuery,
  type RowWrite,
  type TableGateway,
  type WriteResult,
} from '../../table/gateway.js';
import { isFenceKey, isFenceRow } from './fence.js';
import { reasonOf } from '../../table/failure-of-one.js';
import { endOf, homePages, joinedPage, pageFrom, rowsAfter } from './home-pages.js';
import { shardsOfState, type MapState } from './map-state.js';
import type { PartitionHomes } from './partition-homes.js';
import { selecting } from './shown-rows.js';

/** The map of a sharded table. */
export interface RoutingMap {
  readonly name: string;
  known(): Promise<MapState>;
}

/** Finds the shards of partitions, and writes there. */
export interface RoutedPartitions {
  /** The rows of the map in each transaction. */
  readonly ownWrites: number;
  /** Throws `UnknownShardError` for a shard without a table in this program. */
  shard(name: string | undefined, partitionKey?: string): TableGateway;
  readable(partitionKey: string): Promise<TableGateway>;
  /** For the reads of queries over several shards. */
  homes(state: MapState): PartitionHomes;
  /** The given shard if it owns the partition, otherwise the shard of the current map. */
  confirmed(shard: TableGateway, partitionKey: string): Promise<TableGateway>;
  /** Makes later reads at least as new as the partition is now; absent where they always are. */
  readonly confirm?: ((partitionKey: string) => Promise<void>) | undefined;
  writeOne(write: RowWrite): Promise<WriteResult>;
  /** Writes of one partition, at most as many as the table takes. */
  write(partitionKey: string, writes: readonly RowWrite[]): Promise<readonly WriteResult[]>;
}

/**
 * All shards of a map as one table: writes go to the shard that accepts writes of the partition, as
 * a transaction with its owner row where the map is stored. Costs beyond those of a table:
 *
 * - A write with an outdated map is refused by the shard, unseen by the caller, and repeated after
 *   one point read. The first write of a partition takes seven more requests.
 * - A transaction has at most 99 writes, or fewer where a shard takes less than 100.
 * - A read that finds no row checks whether the shard owns the partition, with one more point read.
 * - A page of one partition, given by its PartitionKey, is one range read. Every other page reads
 *   from each shard.
 */
export class ShardedTable implements TableGateway {
  readonly table: string;
  readonly encrypts: EncryptedNames | undefined;
  readonly storesLargeValues: boolean;
  readonly writesMax: number;
  readonly confirm: TableGateway['confirm'];
  readonly #map: RoutingMap;
  readonly #partitions: RoutedPartitions;

  /** `shards`: their tables, all of which encrypt the same. */
  constructor(map: RoutingMap, partitions: RoutedPartitions, shards: readonly TableGateway[]) {
    this.table = map.name;
    this.encrypts = shards[0]?.encrypts;
    this.storesLargeValues = shards.every((shard) => shard.storesLargeValues === true);
    const taken = shards.map((shard) => shard.writesMax ?? transactionWritesMax);
    this.writesMax = Math.min(transactionWritesMax, ...taken) - partitions.ownWrites;
    this.confirm = partitions.confirm?.bind(partitions);
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

  /** Reads nothing, and so does not ask the shard. */
  check(writes: readonly RowWrite[]): Promise<void> {
    return Promise.resolve().then(() => void this.#partitionOf(writes));
  }

  async transact(writes: readonly RowWrite[]): Promise<readonly WriteResult[]> {
    return this.#partitions.write(this.#partitionOf(writes), writes);
  }

  /** The partition of a transaction. Throws for a transaction that the shards would refuse. */
  #partitionOf(writes: readonly RowWrite[]): string {
    if (writes.length > this.writesMax) {
      throw new TooLargeError(
        `a transaction of shards holds at most ${this.writesMax} writes, not ${writes.length}`,
      );
    }
    const [first] = writes;
    if (first === undefined) throw new ValueError('a transaction needs at least one write');
    refuseFenceKeys(writes);
    return keyOfWrite(first).partitionKey;
  }

  async page(query: RowQuery): Promise<RowPage> {
    const after = query.cursor === undefined ? undefined : keyOfCursor(query.cursor);
    const rest: RowQuery = { ...query, ...(after && rowsAfter(query, after)), cursor: undefined };
    const { partitionKey } = query;
    if (typeof partitionKey !== 'string') return this.#pageOfAll(rest);
    const page = await pageFrom(await this.#partitions.readable(partitionKey), rest);
    const shown = page.rows.filter((row) => !isFenceRow(row)).map(selecting(query.select));
    return pageOf(shown, endOf([page]));
  }

  /**
   * Reads a share of the page from every shard. The page contains the rows whose order is certain.
   * A row is returned from the current shard of its partition only; copies elsewhere are not.
   */
  async #pageOfAll(query: RowQuery): Promise<RowPage> {
    const { limit = pageRowsMax } = query;
    const state = await this.#map.known();
    const shards = shardsOfState(state).map((name) => ({
      name,
      table: this.#partitions.shard(name),
    }));
    const share = Math.min(limit, Math.max(shareMin, Math.ceil(limit / shards.length)));
    const homes = this.#partitions.homes(state);
    const parts = await homePages(shards, homes, { ...query, limit: share });
    const { rows, last } = joinedPage(parts, query);
    return pageOf(rows, last);
  }
}

function pageOf(rows: readonly StoredRow[], last: RowKey | undefined): RowPage {
  return last === undefined ? { rows } : { rows, cursor: cursorOf(last) };
}

function refuseFenceKeys(writes: readonly RowWrite[]): void {
  if (!writes.some((write) => isFenceKey(keyOfWrite(write)))) return;
  throw new ValueError('RowKeys that begin with !shard: belong to the shard map');
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
