import { allPages } from '../../table/all-rows.js';
import type { RowKey, RowProperties } from '../../rows/row.js';
import { EntityNotFoundError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { concurrently } from '../../../base/async/concurrently.js';
import { ownTypeProperty } from './fence.js';
import { isMapRow, progressKey, progressType } from './map-row.js';
import { countIn, storedText, textIn } from '../../rows/row-parts.js';

/** The results of a step, over all of its runs. */
export interface ShardReport {
  /** Partitions that were processed. */
  readonly partitions: number;
  /** Rows that were copied, deleted, or found to differ. */
  readonly rows: number;
}

export interface WalkOptions {
  /** Partitions processed concurrently; 8 when absent. */
  readonly concurrency?: number;
  /** Stops the step after a page; it can be resumed. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: ShardReport) => void;
}

/** A shard whose partitions are processed. */
export interface WalkedShard {
  readonly name: string;
  readonly table: TableGateway;
}

export interface Walk {
  /** Distinguishes this walk from those of other steps and other versions of the map. */
  readonly id: string;
  readonly map: string;
  readonly control: TableGateway;
  readonly shards: readonly WalkedShard[];
  /** Returns the rows copied or the like; undefined when the partition is skipped. */
  readonly work: (shard: WalkedShard, partitionKey: string) => Promise<number | undefined>;
}

interface Progress extends ShardReport {
  readonly shard: string;
  readonly after: string;
}

export const concurrencyDefault = 8;

/**
 * Processes every partition of every shard, in order, resuming an earlier run of the same walk.
 * Sends a range read and a write for each page of up to 1,000 rows, of which it reads only the
 * keys, and skips the rest of the last partition.
 */
export async function walkPartitions(walk: Walk, options: WalkOptions = {}): Promise<ShardReport> {
  const { concurrency = concurrencyDefault, signal, onProgress } = options;
  const { shards, work } = walk;
  let progress = (await readProgress(walk)) ?? { shard: '', after: '', partitions: 0, rows: 0 };
  for (const shard of shards) {
    if (shard.name < progress.shard) continue;
    let after = shard.name === progress.shard ? progress.after : '';
    for (;;) {
      signal?.throwIfAborted();
      const page = await partitionsAfter(shard.table, after);
      let { partitions, rows } = progress;
      await concurrently(page.partitionKeys, concurrency, async (partitionKey) => {
        const done = await work(shard, partitionKey);
        if (done === undefined) return;
        partitions += 1;
        rows += done;
      });
      if (page.last === undefined) break;
      after = page.last;
      progress = { shard: shard.name, after, partitions, rows };
      await writeProgress(walk, progress);
      onProgress?.({ partitions, rows });
    }
  }
  return { partitions: progress.partitions, rows: progress.rows };
}

/** The partitions after one, as many as are in a page. `last` undefined: there are no more. */
async function partitionsAfter(
  table: TableGateway,
  after: string,
): Promise<{ readonly partitionKeys: readonly string[]; readonly last: string | undefined }> {
  const partitionKey = after === '' ? {} : { after };
  for await (const { rows } of allPages(table, { partitionKey, select: [ownTypeProperty] })) {
    const last = rows.at(-1)?.partitionKey;
    if (last === undefined) continue;
    const found = rows.filter((row) => !isMapRow(row));
    return { partitionKeys: [...new Set(found.map((row) => row.partitionKey))], last };
  }
  return { partitionKeys: [], last: undefined };
}

async function readProgress({ control, map, id }: Walk): Promise<Progress | undefined> {
  const row = await control.get(progressKey(map));
  if (row === undefined || textIn(row.properties, 'Walk') !== id) return undefined;
  const { properties } = row;
  return {
    shard: textIn(properties, 'Shard') ?? '',
    after: textIn(properties, 'After') ?? '',
    partitions: Number(countIn(properties, 'Partitions')),
    rows: Number(countIn(properties, 'Rows')),
  };
}

/** Overwrites what another program has stored: either is valid for resuming. */
async function writeProgress({ control, map, id }: Walk, progress: Progress): Promise<void> {
  const key: RowKey = progressKey(map);
  const { shard, after, partitions, rows } = progress;
  const properties: RowProperties = {
    EntityType: storedText(progressType),
    Walk: storedText(id),
    Shard: storedText(shard),
    After: storedText(after),
    Partitions: { type: 'Int64', value: BigInt(partitions) },
    Rows: { type: 'Int64', value: BigInt(rows) },
  };
  await control.write({ kind: 'upsert-replace', row: { ...key, properties } });
}

/**
 * Deletes the progress of a run, so that the next one starts from the beginning. One read, and one
 * delete when there is progress. Another program that makes the same change may have deleted it
 * first.
 */
export async function forgetProgress({
  control,
  map,
}: Pick<Walk, 'control' | 'map'>): Promise<void> {
  const key = progressKey(map);
  if ((await control.get(key)) === undefined) return;
  try {
    await control.write({ kind: 'delete', key, etag: '*' });
  } catch (error) {
    if (!(error instanceof EntityNotFoundError)) throw error;
  }
}
