import { Slice } from '../../base/async/slice.js';
import { asBuffer } from '../../base/bytes.js';
import { invalidRange } from '../../model/errors/blob-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { overtaken, untilCommitted } from '../containers/until-committed.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import { keysOf, readRecord, refuseIncremental, type FoundRecord } from './blob-state.js';
import { ContentGoneError, segmentsFrom } from './contents.js';
import type { BlobKeys } from './keys.js';
import { leaseProperties } from './lease.js';
import { attemptsMax, readPieceBytesMax } from './limits.js';
import { pageRuns, pageViewOf } from './page-map.js';
import type { Bounds, Run } from './byte-run.js';
import { isInline } from './segments.js';
import type {
  Access,
  BlobProperties,
  BlobReading,
  Body,
  ReadRange,
  SnapshotAddress,
} from './types.js';

/** Get Blob Properties and Get Blob Metadata (blob-service §11.1). */
export async function getProperties(
  context: BlobContext,
  address: SnapshotAddress,
  access: Access,
): Promise<BlobProperties> {
  const keys = await keysOf(context, address);
  const found = await readRecord(context, keys, address, access);
  return propertiesOf(found, context.clock.nowMicros());
}

/**
 * Get Blob (blob-service §11). Without a range everything. Throws `InvalidRange` for one that
 * begins behind the last byte.
 */
export async function getBlob(
  context: BlobContext,
  address: SnapshotAddress,
  { range, ...access }: Access & { readonly range?: ReadRange | undefined },
): Promise<BlobReading> {
  const keys = await keysOf(context, address);
  let close: () => void = closeNothing;
  try {
    return await untilCommitted(attemptsMax, async () => {
      const found = await readRecord(context, keys, address, access);
      const { record } = found;
      if (found.isBlob) refuseIncremental(record);
      if (record.tier?.tier === 'Archive') throw new StorageError('BlobArchived');
      const bounds = boundsOf(record, range);
      const properties = propertiesOf(found, context.clock.nowMicros());
      if (isAtOnce(record)) {
        const whole = await inlineBytes(context, keys, record, bounds);
        if (whole === undefined) return overtaken;
        close();
        return { properties, ...bounds, whole, body: inOnePiece(whole), close: closeNothing };
      }
      if (close !== closeNothing) {
        const body = until(bytesOf(context, keys, record, bounds), close);
        return { properties, ...bounds, body, close };
      }
      // Content that is found from now on is kept until it has been read.
      close = context.readers.begin(keys);
      return overtaken;
    });
  } catch (error) {
    close();
    throw error;
  }
}

const closeNothing = (): void => undefined;

/**
 * Whether the content is deleted together with its record, so that it cannot be kept for a reader.
 */
function isAtOnce({ kind, bytes, content }: BlobRecord): boolean {
  if (bytes === 0) return true;
  return kind === 'block' && content !== undefined && isInline(content);
}

/** The bytes of an inline content; undefined when the record was replaced since it was read. */
async function inlineBytes(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  { content }: BlobRecord,
  { start, end }: Bounds,
): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let offset = 0;
  for (const { piece, bytes } of content?.tail ?? []) {
    const [first, last] = [Math.max(0, start - offset), Math.min(bytes, end - offset)];
    offset += bytes;
    if (first >= last || piece.kind !== 'inline') continue;
    const entry = await store.get(keys.inlinePiece(piece.id));
    if (entry === undefined) return undefined;
    parts.push(asBuffer(entry.value).subarray(first, last));
  }
  const [part] = parts;
  return part !== undefined && parts.length === 1 ? part : Buffer.concat(parts);
}

async function* inOnePiece(whole: Buffer): AsyncGenerator<Buffer, void, void> {
  if (whole.length > 0) yield whole;
}

function boundsOf({ bytes }: BlobRecord, range: ReadRange | undefined): Bounds {
  if (range === undefined) return { start: 0, end: bytes };
  if (range.first >= bytes) throw invalidRange(bytes);
  const last = range.last ?? Infinity;
  return { start: range.first, end: Math.min(last + 1, bytes) };
}

async function* until(body: Body, close: () => void): AsyncGenerator<Buffer, void, void> {
  try {
    yield* body;
  } finally {
    close();
  }
}

/** The runs from `start` to before `end`, in order. */
export async function* runsOf(
  { store }: BlobContext,
  keys: BlobKeys,
  record: BlobRecord,
  { start, end }: Bounds,
): AsyncGenerator<Run, void, void> {
  if (start >= end) return;
  if (record.kind === 'page') {
    yield* pageRuns(store, keys, pageViewOf(record), { start, end });
    return;
  }
  for await (const { piece, bytes, offset } of segmentsFrom(store, keys, record, start)) {
    if (offset >= end) return;
    const first = Math.max(0, start - offset);
    yield { piece, start: first, bytes: Math.min(bytes, end - offset) - first };
  }
}

/** The bytes of a record's content. The caller keeps the content (`BlobReaders`). */
export async function* bytesOf(
  context: BlobContext,
  keys: BlobKeys,
  record: BlobRecord,
  bounds: Bounds,
): AsyncGenerator<Buffer, void, void> {
  const slice = new Slice(context.clock);
  let at = bounds.start;
  for await (const run of runsOf(context, keys, record, bounds)) {
    at += run.bytes;
    yield* bytesOfRun(context, keys, run);
    // Blocks may be as small as a byte.
    if (slice.isOver) await slice.endOnTime();
  }
  if (at !== bounds.end) throw new ContentGoneError();
}

async function* bytesOfRun(
  { store, content }: BlobContext,
  keys: BlobKeys,
  { piece, start, bytes }: Run,
): AsyncGenerator<Buffer, void, void> {
  if (piece === undefined) {
    for (let left = bytes; left > 0; left -= zeros.length) yield zeros.subarray(0, left);
    return;
  }
  if (piece.kind === 'inline') {
    const entry = await store.get(keys.inlinePiece(piece.id));
    if (entry === undefined) throw new ContentGoneError();
    yield asBuffer(entry.value).subarray(start, start + bytes);
    return;
  }
  const reader = await content.read(piece.id, start, start + bytes);
  try {
    yield* reader.pieces;
  } finally {
    reader.close();
  }
}

/** Shared by all answers, so it must never be written to. */
const zeros = Buffer.alloc(readPieceBytesMax);

/** The properties that answers show. Snapshots, former versions and deleted blobs have no lease. */
export function propertiesOf(
  { record, isBlob }: Pick<FoundRecord, 'record' | 'isBlob'>,
  nowMicros: number,
): BlobProperties {
  const { kind, bytes, createdMicros, modifiedMicros, headers, metadata, tags } = record;
  const { tier, copy, page, append, lease, deleted, versionMicros, immutability } = record;
  const isLeasable = isBlob && deleted === undefined;
  return {
    kind,
    bytes,
    createdMicros,
    modifiedMicros,
    headers,
    metadata,
    tags,
    ...(tier !== undefined && { tier }),
    ...(versionMicros !== undefined && {
      version: { micros: versionMicros, isCurrent: isBlob },
    }),
    ...(isLeasable && { lease: leaseProperties(lease, nowMicros) }),
    ...(copy !== undefined && { copy }),
    ...(page !== undefined && { sequenceNumber: page.sequenceNumber }),
    ...(append !== undefined && { append }),
    ...(immutability !== undefined && { immutability }),
  };
}
