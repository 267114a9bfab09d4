import type { BlobConditions } from '../../model/blobs/conditions.js';
import type { Immutability } from '../../model/blobs/immutability.js';
import type { BlobTier, CopyState } from '../../model/blobs/properties.js';
import type { Tags } from '../../model/blobs/tags.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { checkMetadata } from '../containers/metadata.js';
import type { BlobContext } from './blob-context.js';
import type { BlobDraft, BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkWrite,
  committedOf,
  findRecord,
  keysOf,
  putRecord,
  readState,
  refuseIncremental,
  type BlobState,
} from './blob-state.js';
import { replacing } from './block-blobs.js';
import { checkWriteConditions } from './conditions.js';
import { ContentGoneError } from './contents.js';
import { attemptCopy, copiedUnchanged } from './copy-attempts.js';
import { putCopied, type CopiedContent } from './copied-content.js';
import type { BlobKeys } from './keys.js';
import { containerCheck } from './late-write.js';
import { leaseState } from './lease.js';
import { putTagHints } from './tag-hints.js';
import { checkGivenTier } from './tiers.js';
import type { Access, BlobAddress, SnapshotAddress, Written } from './types.js';

export interface CopyRequest {
  readonly source: SnapshotAddress;
  readonly sourceConditions?: BlobConditions;
  /** The URL that answers show: without a signature. */
  readonly sourceUrl: string;
  /** Absent: that of the source. */
  readonly metadata?: Metadata | undefined;
  readonly tags: Tags | 'source';
  /** Absent: the tier that Put Blob would give. A copy of an archived source must name a tier. */
  readonly tier?: BlobTier | undefined;
  /** The policy and the legal hold of the target. Absent: none, whatever the source has. */
  readonly immutability?: Immutability | undefined;
  /** Whether an append blob is sealed. Absent: as the source is. */
  readonly isSealed?: boolean | undefined;
  /** The source must be a block blob of at most this many bytes. Absent: any blob. */
  readonly blockBytesMax?: number | undefined;
  /** Called when a piece was copied: there may be tens of thousands. */
  readonly onPiece?: () => void;
}

export interface CopiedBlob extends Written {
  /** A GUID. */
  readonly copyId: string;
  /** Whether it is done. */
  readonly status: 'success' | 'pending';
  /** The headers of the source, as stored. */
  readonly headers: BlobRecord['headers'];
}

/**
 * Copy Blob and Copy Blob From URL inside of the server (blob-service §17): the target becomes what
 * the source is at one moment, with its properties, blocks and pages. Done when it resolves. Bytes
 * are linked instead of stored again where the content store can. A lease of the source does not
 * matter; that of the target stays and must be infinite.
 */
export async function copyBlob(
  context: BlobContext,
  target: BlobAddress,
  request: CopyRequest,
  access: Access,
): Promise<CopiedBlob> {
  if (request.metadata !== undefined) checkMetadata(request.metadata);
  const from = await keysOf(context, request.source);
  const to = await keysOf(context, target);
  const checkContainer = containerCheck(context, target, to);
  return copiedUnchanged(context, from, async () => {
    const { record, version } = await readSource(context, from, request);
    checkTarget(await readState(context, to), access, record);
    const { onPiece } = request;
    const attempt = { from, to, record, checkContainer, onPiece };
    return attemptCopy(context, attempt, async (content) => {
      // The map of a page blob may change under its id.
      if (version !== undefined && (await context.store.get(from.base))?.version !== version) {
        throw new ContentGoneError();
      }
      await putTagHints(context, to, tagsOf(record, request));
      return putCopy(context, to, { record, content }, request, access);
    });
  });
}

function putCopy(
  context: BlobContext,
  keys: BlobKeys,
  source: { readonly record: BlobRecord; readonly content: CopiedContent },
  request: CopyRequest,
  access: Access,
): Promise<CopiedBlob> {
  const { record, content } = source;
  const { kind, headers } = record;
  const copyId = context.randomness.uuid();
  return changeBlob(context, keys, async (state, changes) => {
    checkTarget(state, access, record);
    const properties = {
      headers,
      metadata: request.metadata ?? record.metadata,
      tags: tagsOf(record, request),
      ...(request.tier !== undefined && { tier: request.tier }),
      ...(request.immutability !== undefined && { immutability: request.immutability }),
    };
    const draft = await replacing(context, state, changes, { kind, properties });
    const written = putRecord(state, changes, {
      ...draft,
      ...kindOf(record, request),
      headers,
      bytes: content.bytes,
      content: await putCopied(context, keys, changes, content),
      copy: copyState(copyId, request, content.bytes, state.nowMicros),
    });
    return (version) => ({ ...written(version), copyId, status: 'success', headers });
  });
}

function tagsOf({ tags }: BlobRecord, request: CopyRequest): Tags {
  return request.tags === 'source' ? tags : request.tags;
}

/** The members of the target that depend on the type of the source. */
function kindOf(
  { blockIdBytes, append, page }: BlobRecord,
  { isSealed }: CopyRequest,
): Pick<BlobDraft, 'blockIdBytes' | 'append' | 'page'> {
  return {
    blockIdBytes,
    append: append && { ...append, isSealed: isSealed ?? append.isSealed },
    page: page && { ...page, generation: 1, sharedGeneration: 0 },
  };
}

function copyState(
  id: string,
  { sourceUrl: source }: CopyRequest,
  bytes: number,
  nowMicros: number,
): CopyState {
  const progress = { bytesDone: bytes, bytesTotal: bytes };
  return { id, status: 'success', source, ...progress, completedMicros: nowMicros };
}

async function readSource(
  { store }: BlobContext,
  keys: BlobKeys,
  { source, sourceConditions = {}, tier, blockBytesMax }: CopyRequest,
): Promise<{ readonly record: BlobRecord; readonly version: number | undefined }> {
  const { record, isBlob, entryVersion } = await findRecord({ store }, keys, source);
  if (isBlob) refuseIncremental(record);
  checkWriteConditions(sourceConditions, record, 'source');
  if (record.tier?.tier === 'Archive' && tier === undefined) throw new StorageError('BlobArchived');
  checkGivenTier(record.kind, tier, record.bytes);
  if (blockBytesMax !== undefined) {
    if (record.kind !== 'block') throw new StorageError('InvalidSourceBlobType');
    if (record.bytes > blockBytesMax)
      throw new StorageError('CannotVerifyCopySource', { status: 409 });
  }
  const version = record.kind === 'page' ? entryVersion : undefined;
  return { record, version };
}

/** Refuses a copy that the target does not allow (blob-service §10.4, §17.1). */
export function checkTarget(
  state: BlobState,
  access: Access,
  source: Pick<BlobRecord, 'kind'>,
): void {
  checkWrite(state, access, 'create');
  const { record, nowMicros } = state;
  if (record?.lease?.kind === 'fixed' && leaseState(record.lease, nowMicros) === 'leased') {
    throw new StorageError('InfiniteLeaseDurationRequired');
  }
  const target = committedOf(record);
  if (target === undefined) return;
  if (target.kind !== source.kind) throw new StorageError('InvalidBlobType');
  if (target.tier?.tier === 'Archive') throw new StorageError('BlobArchived');
}
