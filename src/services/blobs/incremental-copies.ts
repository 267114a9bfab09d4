import { parseDateTime, versionOfTicks } from '../../model/edm/date-time.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import type { BlobDraft, BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkAccess,
  committedOf,
  keysOf,
  putRecord,
  readPast,
  readState,
  type BlobState,
} from './blob-state.js';
import { overwritten, replacing } from './block-blobs.js';
import type { Changes } from './changes.js';
import { releaseContents } from './contents.js';
import { putCopied, type CopiedContent } from './copied-content.js';
import type { CopiedBlob } from './copies.js';
import { attemptCopy, copiedUnchanged } from './copy-attempts.js';
import { containerCheck } from './late-write.js';
import type { Access, BlobAddress } from './types.js';
import { newMomentMicros, putPast } from './versions.js';

/** The request of an incremental copy. */
export interface IncrementalCopyRequest {
  readonly source: BlobAddress & { readonly snapshotMicros: number };
  /** The URL that answers show: without a signature, with the time of the snapshot. */
  readonly sourceUrl: string;
  /** See `CopyRequest.onPiece`. */
  readonly onPiece?: () => void;
}

/**
 * Incremental Copy Blob (blob-service §14): the target, and a new snapshot of it, get the content
 * and properties of a snapshot of a page blob. The target is new, or was made by copies of earlier
 * snapshots of the same blob. Done when it resolves. Bytes are linked instead of stored again where
 * the content store can, also those that the last copy had already.
 */
export async function copyIncrementally(
  context: BlobContext,
  target: BlobAddress,
  request: IncrementalCopyRequest,
  access: Access,
): Promise<CopiedBlob> {
  const from = await keysOf(context, request.source);
  const to = await keysOf(context, target);
  const checkContainer = containerCheck(context, target, to);
  return copiedUnchanged(context, from, async () => {
    const record = await readPast(context, from, request.source);
    if (record.page === undefined) throw new StorageError('InvalidSourceBlobType');
    checkTarget(await readState(context, to), request, access);
    const { onPiece } = request;
    const attempt = { from, to, record, checkContainer, onPiece };
    const copyId = context.randomness.uuid();
    return attemptCopy(context, attempt, (copied) =>
      changeBlob<CopiedBlob>(context, to, async (state, changes) => {
        checkTarget(state, request, access);
        const written = await putCopy(context, state, changes, { record, copied, copyId, request });
        const { headers } = record;
        return (version) => ({ ...written(version), copyId, status: 'success', headers });
      }),
    );
  });
}

/** Refuses a target that copies of this source have not made, and a step back. */
function checkTarget(
  state: BlobState,
  { source, sourceUrl }: IncrementalCopyRequest,
  access: Access,
): void {
  checkAccess(state, access, 'change');
  const record = committedOf(state.record);
  if (record === undefined) return;
  const { copy } = record;
  const isOfSource = copy?.incremental !== undefined && blobIn(copy.source) === blobIn(sourceUrl);
  if (!isOfSource) throw new StorageError('IncrementalCopyBlobMismatch');
  if (source.snapshotMicros < snapshotIn(copy.source)) {
    throw new StorageError('IncrementalCopyOfEralierVersionSnapshotNotAllowed');
  }
}

function blobIn(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** The time of the snapshot in the URL of a source. */
function snapshotIn(url: string): number {
  const ticks = parseDateTime(new URL(url).searchParams.get('snapshot') ?? '');
  return (ticks === undefined ? undefined : versionOfTicks(ticks)) ?? -1;
}

async function putCopy(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  {
    record,
    copied,
    copyId: id,
    request,
  }: {
    readonly record: BlobRecord;
    readonly copied: CopiedContent;
    readonly copyId: string;
    readonly request: IncrementalCopyRequest;
  },
) {
  const { keys, nowMicros } = state;
  const draft = await draftOf(context, state, changes, record);
  const content = await putCopied(context, keys, changes, copied);
  // Adds the references of the blob and of its snapshot.
  if (content !== undefined) changes.add(keys.contentReferences(content.id), 1);
  const firstMicros = await newMomentMicros(context, state);
  // A deleted blob that was here becomes a snapshot by the same commit, and has the first time.
  const snapshotMicros = state.deleted === undefined ? firstMicros : firstMicros + 1;
  const { bytes } = copied;
  const copy = {
    id,
    status: 'success',
    source: request.sourceUrl,
    bytesDone: bytes,
    bytesTotal: bytes,
    completedMicros: nowMicros,
  } as const;
  const sequenceNumber = record.page?.sequenceNumber ?? 0n;
  const made = { ...draft, headers: record.headers, bytes, content };
  const page = { sequenceNumber, generation: 1, sharedGeneration: 0 };
  const past = { ...made, copy, page, lease: undefined };
  putPast(state, changes, { micros: snapshotMicros, record: past });
  return putRecord(state, changes, {
    ...made,
    copy: { ...copy, incremental: { snapshotMicros } },
    page: { sequenceNumber, generation: 2, sharedGeneration: 1 },
  });
}

/** The record to write, its content aside. The result of the last copy stays as its snapshot. */
async function draftOf(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  { headers, metadata }: BlobRecord,
): Promise<BlobDraft> {
  const replacement = { kind: 'page', properties: { headers, metadata, tags: [] } } as const;
  const before = committedOf(state.record);
  if (before === undefined) {
    const draft = await replacing(context, state, changes, replacement);
    return { ...draft, versionMicros: undefined };
  }
  if (await releaseContents(context, state.keys, changes, [before])) context.onGarbage();
  return overwritten(state, replacement);
}
