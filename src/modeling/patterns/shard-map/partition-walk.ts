import { requireCounts } from '../../definition/count.js';
import { allPages } from '../../table/all-rows.js';
import type { RowKey, RowProperties } from '../../rows/row.js';
import { EntityNotFoundError } from '../../table/errors.js';
import type { TableGateway } from '../../table/gateway.js';
import { walk, walkBeginning, type WalkPosition } from '../moves/walk.js';
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

export const nothing: ShardReport = { partitions: 0, rows: 0 };

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

export interface PartitionWalk {
  /** Distinguishes this walk from those of other steps and other versions of the map. */
  readonly id: string;
  readonly map: string;
  readonly control: TableGateway;
  readonly shards: readonly WalkedShard[];
  /** Returns the rows copied or the like; undefined when the partition is skipped. */
  readonly work: (shard: WalkedShard, partitionKey: string) => Promise<number | undefined>;
}

export const concurrencyDefault = 8;

/** Throws `ValueError` for a concurrency that is no count, before a step writes anything. */
export function requirePace({ concurrency }: Pick<WalkOptions, 'concurrency'>): void {
  requireCounts({ concurrency });
}

/**
 * Processes every partition of every shard, in order, resuming an earlier run of the same walk.
 * Sends a range read and a write for each page of up to 1,000 rows, of which it reads only the
 * keys, and skips the rest of the last partition.
 */
export async function walkPartitions(
  partitions: PartitionWalk,
  { concurrency = concurrencyDefault, signal, onProgress }: WalkOptions = {},
): Promise<ShardReport> {
  const { shards, work } = partitions;
  const segments = shards.map((shard) => ({
    page: (at: string | undefined) => partitionsAfter(shard.table, at),
    work: (partitionKey: string) => work(shard, partitionKey),
  }));
  const reached = async (place: WalkPosition): Promise<WalkPosition> => {
    // The end of a shard is found by reading behind its last partition, by each run.
    if (place.at === undefined) return place;
    await writeProgress(partitions, place);
    onProgress?.(reportOf(place));
    return place;
  };
  const from = (await readProgress(partitions)) ?? walkBeginning;
  return reportOf(await walk(segments, from, reached, { concurrency, signal }));
}

function reportOf({ items, changes }: WalkPosition): ShardReport {
  return { partitions: items, rows: changes };
}

/** The partitions after one, as many as are in a page. */
async function partitionsAfter(
  table: TableGateway,
  after: string | undefined,
): Promise<{ readonly items: readonly string[]; readonly next: string | undefined }> {
  const partitionKey = after === undefined ? {} : { after };
  for await (const { rows } of allPages(table, { partitionKey, select: [ownTypeProperty] })) {
    const last = rows.at(-1)?.partitionKey;
    if (last === undefined) continue;
    const found = rows.filter((row) => !isMapRow(row));
    return { items: [...new Set(found.map((row) => row.partitionKey))], next: last };
  }
  return { items: [], next: undefined };
}

async function readProgress({
  control,
  map,
  id,
  shards,
}: PartitionWalk): Promise<WalkPosition | undefined> {
  const row = await control.get(progressKey(map));
  if (row === undefined || textIn(row.properties, 'Walk') !== id) return undefined;
  const { properties } = row;
  const name = textIn(properties, 'Shard') ?? '';
  const segment = shards.findIndex((shard) => shard.name >= name);
  return {
    segment: segment === -1 ? shards.length : segment,
    at: shards[segment]?.name === name ? textIn(properties, 'After') : undefined,
    items: Number(countIn(properties, 'Partitions')),
    changes: Number(countIn(properties, 'Rows')),
    refused: 0,
  };
}

/** Overwrites what another program has stored: either is valid for resuming. */
async function writeProgress(
  { control, map, id, shards }: PartitionWalk,
  { segment, at = '', items, changes }: WalkPosition,
): Promise<void> {
  const key: RowKey = progressKey(map);
  const properties: RowProperties = {
    EntityType: storedText(progressType),
    Walk: storedText(id),
    Shard: storedText(shards[segment]?.name ?? ''),
    After: storedText(at),
    Partitions: { type: 'Int64', value: BigInt(items) },
    Rows: { type: 'Int64', value: BigInt(changes) },
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
}: Pick<PartitionWalk, 'control' | 'map'>): Promise<void> {
  const key = progressKey(map);
  if ((await control.get(key)) === undefined) return;
  try {
    await control.write({ kind: 'delete', key, etag: '*' });
  } catch (error) {
    if (!(error instanceof EntityNotFoundError)) throw error;
  }
}
