import { unreachable } from '../../../base/invariant.js';
import type { Row, RowKey, StoredRow } from '../../rows/row.js';
import type { RowWrite } from '../../table/gateway.js';
import { readWhole, type ValueSources } from './assembly.js';
import { isLargeRow, layoutOf, type Layout, type PlannedBlob } from './layout.js';
import { blobsOf, manifestOf, manifestProperty, type Manifest } from './manifest.js';
import type { LargeLimits } from './options.js';
import { partRowKey } from './parts.js';

/** The requests of one write. */
export interface Expansion {
  /** The write of the entity first, then those of its part rows. */
  readonly writes: readonly [RowWrite, ...RowWrite[]];
  /** Blobs to put before the transaction. */
  readonly puts: readonly PlannedBlob[];
  /** Blobs to delete after the transaction, which removed the references to them. */
  readonly drops: readonly string[];
  /** The condition is the library's: when it fails, the write is expanded again. */
  readonly isOwnCondition: boolean;
}

export interface Expander extends ValueSources {
  readonly limits: LargeLimits;
  newGeneration(): string;
}

/** A write other than a delete. */
export type PuttingWrite = Exclude<RowWrite, { readonly kind: 'delete' }>;

/** The state before a write. */
interface Before {
  readonly etag: string;
  readonly manifest: Manifest | undefined;
}

/**
 * Expands a write into its requests. `requestBytesMax` bounds those that go into one transaction.
 * Sends a point read of the stored row, unless the write is an insert or cannot leave rows or blobs
 * to delete; a merge of large values reads the whole entity.
 */
export async function expand(
  expander: Expander,
  write: RowWrite,
  requestBytesMax: number,
): Promise<Expansion> {
  switch (write.kind) {
    case 'insert':
      return inserting(await layout(expander, write.row, requestBytesMax), false);
    case 'replace':
    case 'upsert-replace':
      return replacing(expander, write, requestBytesMax);
    case 'merge':
    case 'upsert-merge':
      return isLargeRow(write.row, expander.limits)
        ? merging(expander, write, requestBytesMax)
        : alone(write);
    case 'delete':
      return deleting(expander, write);
    default:
      return unreachable(write);
  }
}

/** Turns a merge into a replace of the whole merged entity, when a merge cannot express it. */
export async function merging(
  expander: Expander,
  write: PuttingWrite,
  requestBytesMax: number,
): Promise<Expansion> {
  const found = await readWhole(expander, write.row);
  if (found === undefined) {
    return write.kind === 'merge'
      ? alone({ kind: 'replace', row: keysOnly(write.row), etag: write.etag })
      : inserting(await layout(expander, write.row, requestBytesMax), true);
  }
  const properties = { ...found.whole.properties, ...write.row.properties };
  const merged = { ...keysOnly(write.row), properties };
  return exchange({
    layout: await layout(expander, merged, requestBytesMax),
    before: beforeOf(found.stored),
    etag: write.kind === 'merge' ? write.etag : '*',
  });
}

async function replacing(
  expander: Expander,
  write: PuttingWrite,
  requestBytesMax: number,
): Promise<Expansion> {
  const before = await readBefore(expander, write.row);
  const planned = await layout(expander, write.row, requestBytesMax);
  const etag = write.kind === 'replace' ? write.etag : '*';
  const outside = isOutside(planned);
  if (before !== undefined && (outside || hasOutside(before.manifest))) {
    return exchange({ layout: planned, before, etag });
  }
  if (outside && write.kind === 'upsert-replace') return inserting(planned, true);
  return {
    ...nothing,
    writes: [{ ...write, row: planned.head }, ...inserts(planned)],
    puts: planned.blobs,
  };
}

async function deleting(
  expander: Expander,
  write: Extract<RowWrite, { readonly kind: 'delete' }>,
): Promise<Expansion> {
  const before = await readBefore(expander, write.key);
  if (before === undefined || !hasOutside(before.manifest)) return alone(write);
  const isOwnCondition = write.etag === '*';
  const etag = isOwnCondition ? before.etag : write.etag;
  return {
    writes: [{ kind: 'delete', key: write.key, etag }, ...deletes(write.key, before.manifest)],
    puts: [],
    drops: blobsOf(before.manifest),
    isOwnCondition,
  };
}

interface Exchange {
  readonly layout: Layout;
  readonly before: Before | undefined;
  /**
   * The caller's; '*' becomes the ETag that was read, because the old rows belong to that version.
   */
  readonly etag: string;
}

function exchange({ layout: { head, rows, blobs }, before, etag }: Exchange): Expansion {
  const isOwnCondition = etag === '*';
  const condition = isOwnCondition ? (before?.etag ?? etag) : etag;
  return {
    writes: [
      { kind: 'replace', row: head, etag: condition },
      ...rows.map((row) => ({ kind: 'insert', row }) as const),
      ...deletes(head, before?.manifest),
    ],
    puts: blobs,
    drops: blobsOf(before?.manifest),
    isOwnCondition,
  };
}

function inserting(planned: Layout, isOwnCondition: boolean): Expansion {
  return {
    ...nothing,
    writes: [{ kind: 'insert', row: planned.head }, ...inserts(planned)],
    puts: planned.blobs,
    isOwnCondition,
  };
}

const nothing = { puts: [], drops: [], isOwnCondition: false } as const;

function alone(write: RowWrite): Expansion {
  return { ...nothing, writes: [write] };
}

function inserts({ rows }: Layout): readonly RowWrite[] {
  return rows.map((row) => ({ kind: 'insert', row }));
}

/** Part rows are written and deleted with their entity, so they need no condition. */
function deletes({ partitionKey }: RowKey, manifest: Manifest | undefined): readonly RowWrite[] {
  if (manifest === undefined) return [];
  return Array.from({ length: manifest.rows }, (_, index) => ({
    kind: 'delete',
    key: partRowKey(partitionKey, manifest.generation, index),
    etag: '*',
  }));
}

function layout(expander: Expander, row: Row, requestBytesMax: number): Promise<Layout> {
  const { table, limits } = expander;
  const generation = expander.newGeneration();
  return layoutOf({ table: table.table, row, limits, generation, requestBytesMax });
}

async function readBefore(
  { table, limits }: Pick<Expander, 'table' | 'limits'>,
  key: RowKey,
): Promise<Before | undefined> {
  if (!limits.useRows && !limits.useBlobs) return undefined;
  const stored = await table.get(key, [manifestProperty]);
  return stored === undefined ? undefined : beforeOf(stored);
}

function beforeOf(stored: StoredRow): Before {
  return { etag: stored.etag, manifest: manifestOf(stored.properties) };
}

function hasOutside(manifest: Manifest | undefined): boolean {
  return manifest !== undefined && (manifest.rows > 0 || blobsOf(manifest).length > 0);
}

function isOutside({ rows, blobs }: Layout): boolean {
  return rows.length > 0 || blobs.length > 0;
}

function keysOnly({ partitionKey, rowKey }: RowKey): Row {
  return { partitionKey, rowKey, properties: {} };
}
