import { systemClock, type Clock } from '../../../base/clock.js';
import { ModelError } from '../../rows/model-error.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { writeIfPresent } from '../../table/write-if-present.js';
import { MissingValueError } from './assembly.js';
import type { ListedBlob } from './blob-port.js';
import type { LargeTable } from './large-table.js';
import { ownerMetadata } from './layout.js';
import { blobsOf, manifestOf, manifestProperty } from './manifest.js';
import { ownerProperty, partRowPrefix } from './parts.js';

/** What a verification does. */
export interface VerifyOptions {
  /** Deletes what is abandoned. Without it the report is all. */
  readonly repair?: boolean;
  /** Reads every value and compares its checksum, and not only whether its blobs are there. */
  readonly readValues?: boolean;
  /** The machine's clock when absent. Must agree with the service's to far less than `graceMs`. */
  readonly clock?: Clock;
}

/** An entity that cannot be read, and why. */
export interface UnreadableValue extends RowKey {
  readonly reason: ModelError;
}

/** What a verification found. */
export interface LargeReport {
  /** Entities with large values. */
  readonly entities: number;
  /** Blobs of the table, the abandoned among them. */
  readonly blobs: number;
  /** Names of blobs that no entity points to, older than `graceMs`. Deleted with `repair`. */
  readonly abandonedBlobs: readonly string[];
  /** Rows of values that no entity points to. Deleted with `repair`. */
  readonly abandonedRows: readonly RowKey[];
  /** Entities whose values are not all there. Nothing repairs them but writing them again. */
  readonly unreadable: readonly UnreadableValue[];
}

/**
 * Compares entities with the rows and blobs of their values. A table scan, a listing of the table's
 * blobs, a point read for each that no entity seems to point to, one request for each blob of an
 * entity to see that it is there, and with `repair` one delete for each that is abandoned. Safe
 * beside readers and writers, and to run again after a crash.
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
  const query = {
    filter: `${manifestProperty} gt '' or ${ownerProperty} ge ''`,
    select: [manifestProperty, ownerProperty],
  };
  const rows: StoredRow[] = [];
  let cursor: string | undefined;
  do {
    const page = await table.page(cursor === undefined ? query : { ...query, cursor });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  const isPart = ({ properties }: StoredRow) => properties[ownerProperty] !== undefined;
  return { entities: rows.filter((row) => !isPart(row)), partRows: rows.filter(isPart) };
}

/**
 * A row is written with the entity that points to it, so one whose entity, read afterwards, points
 * elsewhere will never be pointed to again.
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
  /** Their names. */
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
  const oldEnough = clock.nowMicros() - table.graceMs * 1000;
  const isAbandoned = async ({ name, modifiedMicros, metadata }: ListedBlob): Promise<boolean> => {
    if (referenced.has(name) || modifiedMicros > oldEnough) return false;
    const owner = ownerOf(metadata);
    // A blob that does not tell its entity is not of this pattern.
    if (owner === undefined) return false;
    return !blobsOf(await table.describe(owner)).includes(name);
  };
  const abandoned: string[] = [];
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await blobs.list(table.blobFolder, cursor);
    count += page.blobs.length;
    for (const blob of page.blobs) if (await isAbandoned(blob)) abandoned.push(blob.name);
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

/** Its key is never used again, so whatever is there is what was found. */
async function deleteRow({ sources: { table } }: LargeTable, key: RowKey): Promise<void> {
  await writeIfPresent(() => table.write({ kind: 'delete', key, etag: '*' }));
}
