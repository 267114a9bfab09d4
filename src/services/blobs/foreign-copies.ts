import type { CopyState } from '../../model/blobs/properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkMetadata } from '../containers/metadata.js';
import { newId, type BlobContext } from './blob-context.js';
import type { BlobDraft, BlobRecord } from './blob-record.js';
import {
  changeBlob,
  existing,
  keysOf,
  putRecord,
  readState,
  recordOf,
  type BlobState,
} from './blob-state.js';
import { replacing } from './block-blobs.js';
import type { Changes } from './changes.js';
import { releaseContents } from './contents.js';
import { checkTarget, type CopiedBlob, type CopyRequest } from './copies.js';
import { putCopied, type CopiedContent } from './copied-content.js';
import type { ForeignBlob, ForeignSource } from './foreign-blob.js';
import { checkForeign, withForeignContent, type ForeignContentOptions } from './foreign-content.js';
import { containerOfKey, dueHintKey, type BlobKeys } from './keys.js';
import { containerCheck } from './late-write.js';
import { checkLease } from './lease.js';
import { pendingSecondsMax } from './limits.js';
import { putTagHints } from './tag-hints.js';
import { checkGivenTier } from './tiers.js';
import type { Access, BlobAddress } from './types.js';

/** The request of a copy of a foreign blob; see `CopyRequest`. */
export type ForeignCopyRequest = Omit<
  CopyRequest,
  'source' | 'sourceConditions' | 'blockBytesMax' | 'onPiece'
>;

/** Copy Blob From URL of a foreign block blob (blob-service §17.3): done when it resolves. */
export async function copyForeign(
  context: BlobContext,
  address: BlobAddress,
  { source, request }: ForeignCopy,
  access: Access,
): Promise<CopiedBlob> {
  const { blob } = source;
  const { keys, metadata, tags } = await prepare(context, address, { source, request }, access);
  const id = context.randomness.uuid();
  const options = { signal: new AbortController().signal, onBytes: () => undefined };
  const checkContainer = containerCheck(context, address, keys);
  return withForeignContent(context, { keys, source }, options, async (content) => {
    await checkContainer();
    await putTagHints(context, keys, tags);
    return changeBlob(context, keys, async (state, changes) => {
      checkTarget(state, access, blob);
      const draft = await draftOf(context, state, changes, { blob, request, metadata, tags });
      const written = putRecord(state, changes, {
        ...draft,
        ...(await contentOf(context, keys, changes, content)),
        copy: { ...begun(id, { source, request }), ...done(content.bytes, state) },
      });
      return (version) => ({
        ...written(version),
        copyId: id,
        status: 'success',
        headers: blob.headers,
      });
    });
  });
}

export interface ForeignCopy {
  readonly source: ForeignSource;
  readonly request: ForeignCopyRequest;
}

/**
 * The first half of Copy Blob of a foreign blob (blob-service §17.1): the target is empty, and its
 * copy is pending. The caller finishes the copy, and until then regularly stores that it is still
 * running (`noteProgress`); otherwise the copy fails.
 */
export async function beginCopy(
  context: BlobContext,
  address: BlobAddress,
  copy: ForeignCopy,
  access: Access,
): Promise<CopiedBlob & { readonly keys: BlobKeys }> {
  const { keys, metadata, tags } = await prepare(context, address, copy, access);
  const { source, request } = copy;
  const { blob } = source;
  const id = context.randomness.uuid();
  // The hints must be there before the copy is.
  await putTagHints(context, keys, tags);
  await putPendingHint(context, keys, address.blob);
  return changeBlob(context, keys, async (state, changes) => {
    checkTarget(state, access, blob);
    const draft = await draftOf(context, state, changes, { blob, request, metadata, tags });
    const isPage = blob.kind === 'page';
    const written = putRecord(state, changes, {
      ...draft,
      bytes: isPage ? blob.bytes : 0,
      content: isPage ? { id: newId(context), isChunked: false, tail: [] } : undefined,
      copy: { ...begun(id, copy), status: 'pending', bytesDone: 0 },
    });
    return (version) => ({
      ...written(version),
      copyId: id,
      status: 'pending',
      headers: blob.headers,
      keys,
    });
  });
}

async function prepare(
  context: BlobContext,
  address: BlobAddress,
  { source: { blob }, request }: ForeignCopy,
  access: Access,
): Promise<{ readonly keys: BlobKeys } & Pick<BlobRecord, 'metadata' | 'tags'>> {
  checkForeign(blob);
  checkGivenTier(blob.kind, request.tier, blob.bytes);
  const metadata = request.metadata ?? blob.metadata;
  checkMetadata(metadata);
  const tags = request.tags === 'source' ? blob.tags : request.tags;
  const keys = await keysOf(context, address);
  checkTarget(await readState(context, keys), access, blob);
  return { keys, metadata, tags };
}

/** The target with everything but its bytes. */
async function draftOf(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  {
    blob,
    request: { tier, immutability, isSealed },
    metadata,
    tags,
  }: {
    readonly blob: ForeignBlob;
    readonly request: ForeignCopyRequest;
  } & Pick<BlobRecord, 'metadata' | 'tags'>,
): Promise<BlobDraft> {
  const { kind, headers, append, sequenceNumber = 0n } = blob;
  const properties = {
    headers,
    metadata,
    tags,
    ...(tier !== undefined && { tier }),
    ...(immutability !== undefined && { immutability }),
  };
  const draft = await replacing(context, state, changes, { kind, properties });
  return {
    ...draft,
    headers,
    append: append && { ...append, isSealed: isSealed ?? append.isSealed },
    page: kind === 'page' ? { sequenceNumber, generation: 1, sharedGeneration: 0 } : undefined,
  };
}

async function contentOf(
  context: BlobContext,
  keys: BlobKeys,
  changes: Changes,
  content: CopiedContent,
): Promise<Pick<BlobDraft, 'bytes' | 'content' | 'blockIdBytes'>> {
  return {
    bytes: content.bytes,
    content: await putCopied(context, keys, changes, content),
    blockIdBytes: content.segments.find(({ blockId }) => blockId !== undefined)?.blockId?.length,
  };
}

function begun(
  id: string,
  { source: { blob }, request }: ForeignCopy,
): Pick<CopyState, 'id' | 'source' | 'bytesTotal'> {
  return { id, source: request.sourceUrl, bytesTotal: blob.bytes };
}

function done(
  bytesDone: number,
  { nowMicros }: Pick<BlobState, 'nowMicros'>,
): Pick<CopyState, 'status' | 'bytesDone' | 'completedMicros'> {
  return { status: 'success', bytesDone, completedMicros: nowMicros };
}

/**
 * Stores the content of a pending copy, and ends the copy. Throws `CopyEndedError` when the copy
 * has ended already.
 */
export async function finishCopy(
  context: BlobContext,
  { keys, id }: PendingCopy,
  source: ForeignSource,
  {
    underReadLock,
    ...options
  }: ForeignContentOptions & { readonly underReadLock: RunUnderReadLock },
): Promise<void> {
  await withForeignContent(context, { keys, source }, options, (content) =>
    underReadLock(() =>
      changeBlob(context, keys, async (state, changes) => {
        const { record, copy } = pendingIn(state, id);
        // Releases the empty page map of a page blob whose pages were still to come.
        if (await releaseContents(context, keys, changes, [record])) context.onGarbage();
        putRecord(state, changes, {
          ...record,
          ...(await contentOf(context, keys, changes, content)),
          modifiedMicros: 'commit',
          copy: { ...copy, ...done(content.bytes, state) },
        });
        return () => undefined;
      }),
    ),
  );
}

/**
 * Runs work during which the data of the server are not replaced. A commit of a copy needs that,
 * because it refers to bytes that were stored before.
 */
export type RunUnderReadLock = <T>(work: () => Promise<T>) => Promise<T>;

export interface PendingCopy {
  readonly keys: BlobKeys;
  /** The id of the copy. */
  readonly id: string;
}

/** A copy is no longer pending: it was aborted, or its process was taken for dead. */
export class CopyEndedError extends Error {
  override readonly name = 'CopyEndedError';

  constructor() {
    super('The copy has ended meanwhile.');
  }
}

function pendingIn(
  { record }: BlobState,
  id: string,
): { readonly record: BlobRecord; readonly copy: CopyState } {
  const copy = record?.copy;
  if (record === undefined || copy?.status !== 'pending' || copy.id !== id) {
    throw new CopyEndedError();
  }
  return { record, copy };
}

/**
 * Stores the progress of a pending copy, which also shows that the copy is still running. Throws
 * `CopyEndedError`.
 */
export function noteProgress(
  context: BlobContext,
  { keys, id }: PendingCopy,
  bytesDone: number,
): Promise<void> {
  return changeBlob(context, keys, async (state, changes) => {
    const { record, copy } = pendingIn(state, id);
    putRecord(state, changes, { ...record, copy: { ...copy, bytesDone } });
    return () => undefined;
  });
}

/** Ends a pending copy without its bytes. Throws `CopyEndedError`. */
export function failCopy(
  context: BlobContext,
  { keys, id }: PendingCopy,
  description: string,
): Promise<void> {
  return changeBlob(context, keys, async (state, changes) => {
    const { record, copy } = pendingIn(state, id);
    putEmpty(state, changes, record, { ...copy, status: 'failed', description });
    return () => undefined;
  });
}

/** The target of a failed copy has no bytes, and keeps its properties. */
function putEmpty(state: BlobState, changes: Changes, record: BlobRecord, copy: CopyState): void {
  putRecord(state, changes, {
    ...record,
    bytes: 0,
    append: record.append && { ...record.append, count: 0 },
    modifiedMicros: 'commit',
    copy: { ...copy, completedMicros: state.nowMicros },
  });
}

/**
 * Abort Copy Blob (blob-service §17.2). Throws `NoPendingCopyOperation`, also for a copy that was
 * complete when its request was answered, and `CopyIdMismatch`.
 */
export async function abortCopy(
  context: BlobContext,
  address: BlobAddress,
  { id, leaseId }: { readonly id: string } & Pick<Access, 'leaseId'>,
): Promise<void> {
  const keys = await keysOf(context, address);
  await changeBlob(context, keys, async (state, changes) => {
    const record = existing(state.record);
    const { nowMicros } = state;
    checkLease(record.lease, { id: leaseId, use: 'write' }, { holder: 'blob', nowMicros });
    const { copy } = record;
    if (copy?.status !== 'pending') throw new StorageError('NoPendingCopyOperation');
    if (copy.id !== id) throw new StorageError('CopyIdMismatch');
    putEmpty(state, changes, record, { ...copy, status: 'aborted' });
    return () => undefined;
  });
}

/** When a pending copy without a later write counts as dead. */
function pendingUntilMicros(writtenMicros: number): number {
  return writtenMicros + pendingSecondsMax * 1_000_000;
}

async function putPendingHint(
  { store, clock }: BlobContext,
  keys: BlobKeys,
  name: string,
): Promise<void> {
  const key = dueHintKey(containerOfKey(keys.base), pendingUntilMicros(clock.nowMicros()), name);
  await store.commit({ checks: [], puts: [{ key, value: Buffer.alloc(0) }], deletes: [] });
}

/**
 * Ends a pending copy whose process has died, which is assumed when it has stored no progress for a
 * time. Returns when to look again; undefined without a pending copy.
 */
export async function failCopyWhenDue(
  context: BlobContext,
  keys: BlobKeys,
): Promise<number | undefined> {
  const entry = await context.store.get(keys.base);
  const copy = recordOf(entry)?.copy;
  if (entry === undefined || copy?.status !== 'pending') return undefined;
  const untilMicros = pendingUntilMicros(entry.version);
  if (untilMicros > context.clock.nowMicros()) return untilMicros;
  try {
    await failCopy(context, { keys, id: copy.id }, endedDescription);
  } catch (error) {
    if (!(error instanceof CopyEndedError)) throw error;
  }
  return undefined;
}

/** The description of a copy whose server has ended (blob-service §17.1). */
export const endedDescription =
  '500 OperationCancelled "The server ended before the copy did. Begin it again."';
