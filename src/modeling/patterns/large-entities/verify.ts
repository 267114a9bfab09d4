import { systemClock, type Clock } from '../../../base/clock.js';
import { ModelError } from '../../rows/model-error.js';
import { allRows } from '../../table/all-rows.js';
import { whereStored } from '../../table/filter.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { writeIfPresent } from '../../table/conditional-write.js';
import { MissingValueError } from './assembly.js';
import type { ListedBlob } from './blob-port.js';
import type { LargeTable } from './large-table.js';
import { ownerMetadata } from './layout.js';
import { blobsOf, manifestOf, manifestProperty } from './manifest.js';
import { ownerProperty, partRowPrefix } from './parts.js';

/** The options of `verifyLargeValues`. */
export interface VerifyOptions {
  /** Deletes abandoned rows and blobs; otherwise they are only reported. */
  readonly repair?: boolean;
  /** Reads every value and compares its checksum, instead of only checking that its blobs exist. */
  readonly readValues?: boolean;
  /**
   * The system's when absent. The age of a blob is counted by this clock and by that of the
   * service, and the lesser of both counts. Where a port does not tell the service's, this one must
   * agree with it to far less than `graceMs`.
   */
  readonly clock?: Clock;
}

/** An entity that cannot be read, and why. */
export interface UnreadableValue extends RowKey {
  readonly reason: ModelError;
}

/** The results of a verification. */
export interface LargeReport {
  /** Entities with large values. */
  readonly entities: number;
  /** Blobs of the table, including abandoned ones. */
  readonly blobs: number;
  /** Names of blobs older than `graceMs` without a reference. Deleted with `repair`. */
  readonly abandonedBlobs: readonly string[];
  /** Part rows without a reference. Deleted with `repair`. */
  readonly abandonedRows: readonly RowKey[];
  /** Entities with missing or damaged values. Only another write repairs them. */
  readonly unreadable: readonly UnreadableValue[];
}

/**
 * Compares entities with the rows and blobs of their values. Sends a table scan, a listing of the
 * table's blobs, a point read for each part row and for each blob that seems unreferenced, one
 * request for each blob of an entity to see that it exists, and with `repair` one delete for each
 * abandoned row or blob. Safe beside readers and writers, and after a crash.
 *
 * Keeps the keys and manifests of all entities with large values in memory, about 1 KB each, and a
 * page of the listing: a million such entities are 1 GB.
 */
export async function verifyLargeValues(
  table: LargeTable,
  options: VerifyOptions = {},
): Promise<LargeReport> {
  const { blobs } = table.sources;
  const scan = await scanned(table);
  const abandonedRows = await abandonedRowsOf(table, scan);
  const found = await lookThroughBlobs(table, scan, options);
  const unreadable = await unreadableOf(table, scan, options);
  if (options.repair === true) {
    for (const name of found.abandoned) await blobs?.delete(name);
    for (const key of abandonedRows) await deleteRow(table, key);
  }
  return {
    entities: scan.entities.length,
    blobs: found.count,
    abandonedBlobs: found.abandoned,
    abandonedRows,
    unreadable,
  };
}

interface Scan {
  /** With their manifests. */
  readonly entities: readonly StoredRow[];
  /** With the RowKey of their entity. */
  readonly partRows: readonly StoredRow[];
}

async function scanned({ sources: { table } }: LargeTable): Promise<Scan> {
  const empty = { type: 'String', value: '' } as const;
  const query = {
    where: whereStored(manifestProperty, 'gt', empty).or(whereStored(ownerProperty, 'ge', empty)),
    select: [manifestProperty, ownerProperty],
  };
  const rows: StoredRow[] = [];
  for await (const row of allRows(table, query)) rows.push(row);
  const isPart = ({ properties }: StoredRow) => properties[ownerProperty] !== undefined;
  return { entities: rows.filter((row) => !isPart(row)), partRows: rows.filter(isPart) };
}

/**
 * A part row is written with the entity that refers to it. If its entity, read afterwards, refers
 * to another generation, nothing will refer to the row again.
 */
async function abandonedRowsOf(table: LargeTable, { partRows }: Scan): Promise<readonly RowKey[]> {
  const abandoned: RowKey[] = [];
  for (const { partitionKey, rowKey, properties } of partRows) {
    const owner = properties[ownerProperty];
    if (owner?.type !== 'String') continue;
    const manifest = await table.describe({ partitionKey, rowKey: owner.value });
    const isInUse =
      manifest !== undefined && rowKey.startsWith(`${partRowPrefix}${manifest.generation}_`);
    if (!isInUse) abandoned.push({ partitionKey, rowKey });
  }
  return abandoned;
}

interface FoundBlobs {
  readonly count: number;
  /** The names of abandoned blobs. */
  readonly abandoned: readonly string[];
}

async function lookThroughBlobs(
  table: LargeTable,
  { entities }: Scan,
  { clock = systemClock }: VerifyOptions,
): Promise<FoundBlobs> {
  const { blobs } = table.sources;
  if (blobs === undefined) return { count: 0, abandoned: [] };
  const referenced = new Set(entities.flatMap(({ properties }) => blobsOf(manifestOf(properties))));
  const isAbandoned = async (
    { name, modifiedMicros, metadata }: ListedBlob,
    nowMicros: number,
  ): Promise<boolean> => {
    const isYoung = modifiedMicros > nowMicros - table.graceMs * 1000;
    if (referenced.has(name) || isYoung) return false;
    const owner = ownerOf(metadata);
    // A blob that does not name its entity is not of this library.
    if (owner === undefined) return false;
    return !blobsOf(await table.describe(owner)).includes(name);
  };
  const abandoned: string[] = [];
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await blobs.list(table.blobFolder, cursor);
    count += page.blobs.length;
    const nowMicros = Math.min(clock.nowMicros(), page.serviceMicros ?? Number.POSITIVE_INFINITY);
    for (const blob of page.blobs) {
      if (await isAbandoned(blob, nowMicros)) abandoned.push(blob.name);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { count, abandoned };
}

function ownerOf(metadata: Readonly<Record<string, string>>): RowKey | undefined {
  const text = Buffer.from(metadata[ownerMetadata] ?? '', 'base64').toString('utf8');
  const [partitionKey, rowKey] = keysOf(text);
  if (typeof partitionKey !== 'string' || typeof rowKey !== 'string') return undefined;
  return { partitionKey, rowKey };
}

function keysOf(text: string): readonly unknown[] {
  try {
    const keys: unknown = JSON.parse(text);
    return Array.isArray(keys) ? keys : [];
  } catch {
    return [];
  }
}

async function unreadableOf(
  table: LargeTable,
  { entities }: Scan,
  { readValues = false }: VerifyOptions,
): Promise<readonly UnreadableValue[]> {
  const unreadable: UnreadableValue[] = [];
  for (const row of entities) {
    const { partitionKey, rowKey } = row;
    try {
      if (readValues || (await hasMissingBlob(table, row))) await table.get(row);
    } catch (reason) {
      if (!(reason instanceof ModelError)) throw reason;
      unreadable.push({ partitionKey, rowKey, reason });
    }
  }
  return unreadable;
}

async function hasMissingBlob(
  { sources: { blobs } }: LargeTable,
  row: StoredRow,
): Promise<boolean> {
  for (const name of blobsOf(manifestOf(row.properties))) {
    if (blobs === undefined) throw new MissingValueError(`${name} is a blob: pass 'blobs'`);
    if (!(await blobs.has(name))) return true;
  }
  return false;
}

/** Keys of part rows are never reused, so this deletes the row that was found. */
async function deleteRow({ sources: { table } }: LargeTable, key: RowKey): Promise<void> {
  await writeIfPresent(() => table.write({ kind: 'delete', key, etag: '*' }));
}
