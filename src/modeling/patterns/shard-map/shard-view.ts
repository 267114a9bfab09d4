import { ValueError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import type { RowPage, RowQuery, TableGateway, WriteResult } from '../../table/gateway.js';
import { isContent, selectedWithType, selecting } from './shown-rows.js';

/** The shards of a map, as they are read one by one. */
export interface ShardViews {
  /** The shards that may have rows, sorted. */
  readonly shards: readonly string[];
  /** Those that may have rows of a text that is routed: two while it moves, none in some lists. */
  shardsOf(text: string): readonly string[];
  /** Throws `UnknownShardError` for a shard without a table in this program. */
  view(shard: string): TableGateway;
}

/** Whether a partition is read from this shard. The answer must not change. */
export type IsHome = (partitionKey: string) => Promise<boolean>;

/**
 * What a shard holds of a map: rows of partitions whose home it is, without those that a map has
 * written, and without what other shards have taken over. It is only read.
 */
export class ShardView implements TableGateway {
  readonly table: string;
  readonly #shard: TableGateway;
  readonly #isHome: IsHome;

  constructor(shard: TableGateway, isHome: IsHome) {
    this.table = shard.table;
    this.#shard = shard;
    this.#isHome = isHome;
  }

  async get(key: RowKey, select?: readonly string[]): Promise<StoredRow | undefined> {
    if (!(await this.#isHome(key.partitionKey))) return undefined;
    const row = await this.#shard.get(key, selectedWithType(select));
    return row !== undefined && isContent(row) ? selecting(select)(row) : undefined;
  }

  async page(query: RowQuery): Promise<RowPage> {
    const select = selectedWithType(query.select);
    const { rows, cursor } = await this.#shard.page({ ...query, select });
    const own: StoredRow[] = [];
    for (const row of rows) {
      if (isContent(row) && (await this.#isHome(row.partitionKey))) own.push(row);
    }
    const shown = own.map(selecting(query.select));
    return cursor === undefined ? { rows: shown } : { rows: shown, cursor };
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
