import { asBuffer, equalBytes, type Bytes } from '../../base/bytes.js';
import { encodeCounter } from '../../kv/counter.js';
import type { BlobKind } from '../../model/blobs/properties.js';
import { md5Mismatch } from '../../model/errors/blob-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkMetadata } from '../containers/metadata.js';
import { newId, type BlobContext } from './blob-context.js';
import { newBlobDraft, type BlobDraft, type BlobRecord } from './blob-record.js';
import {
  changeBlob,
  changeBlobBeside,
  checkWrite,
  keysOf,
  leaseKept,
  putRecord,
  readState,
  type BlobState,
} from './blob-state.js';
import type { Changes } from './changes.js';
import { putContent, putPieceGarbage, releaseContents } from './contents.js';
import { containerCheck } from './late-write.js';
import { uncommittedBlocksMax } from './limits.js';
import { hashed, putPiece, withNewPiece, type NewPiece } from './new-piece.js';
import { decodeBlock, encodeBlock } from './segments.js';
import {
  dropBlockStage,
  openBlockStage,
  putBlockStageHint,
  type OpenBlockStage,
} from './block-stages.js';
import { putTagHints } from './tag-hints.js';
import { checkGivenTier } from './tiers.js';
import { checkReplaceable, keepReplaced } from './versions.js';
import type {
  Access,
  BlobAddress,
  Body,
  NewBlock,
  NewBlockBlob,
  NewProperties,
  PutBlobResult,
} from './types.js';

/**
 * Put Blob of a block blob (blob-service §12.1): replaces everything but snapshots, the lease and
 * the tier. A request that must be refused is refused before its body is read, and checked again
 * afterwards.
 */
export async function putBlockBlob(
  context: BlobContext,
  address: BlobAddress,
  blob: NewBlockBlob,
  { body, ...access }: Access & { readonly body: Body },
): Promise<PutBlobResult> {
  checkMetadata(blob.metadata);
  checkGivenTier('block', blob.tier, 0);
  const keys = await keysOf(context, address);
  const before = await readState(context, keys);
  checkWrite(before, access, 'create');
  checkReplaceable(context, before);
  const hash = hashed(body);
  const checkContainer = containerCheck(context, address, keys);
  return withNewPiece(context, { keys, body: hash.body }, async (piece) => {
    await checkContainer();
    const md5 = hash.md5();
    if (blob.md5 !== undefined && !equalBytes(blob.md5, md5)) {
      throw md5Mismatch(asBuffer(blob.md5).toString('base64'), md5.toString('base64'));
    }
    const headers = { contentMd5: md5, ...blob.headers };
    await putTagHints(context, keys, blob.tags);
    return changeBlob(context, keys, async (state, changes) => {
      checkWrite(state, access, 'create');
      putPiece(keys, changes, piece);
      const properties = { ...blob, headers };
      const draft = await replacing(context, state, changes, { kind: 'block', properties });
      const written = putRecord(state, changes, {
        ...draft,
        bytes: piece.bytes,
        content: await contentOf(context, state, changes, piece),
      });
      return (version) => ({ ...written(version), md5 });
    });
  });
}

function contentOf(
  context: BlobContext,
  { keys }: BlobState,
  changes: Changes,
  { bytes, piece }: NewPiece,
): Promise<BlobDraft['content']> {
  const segments = piece === undefined ? [] : [{ blockId: undefined, bytes, piece }];
  return putContent(context, keys, changes, segments);
}

/** The new state of a blob that Put Blob or a copy replaces, without its content. */
export interface Replacement {
  readonly kind: BlobKind;
  readonly properties: NewProperties;
}

/**
 * The draft of a blob that replaces the present one: with new properties, without content, and with
 * what survives an overwrite. The present one is kept as a version or a deleted snapshot where the
 * account says so (`keepReplaced`), and becomes garbage otherwise.
 */
export async function replacing(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  replacement: Replacement,
): Promise<BlobDraft> {
  const { keys, record } = state;
  await dropBlockStage(context, keys, changes, record);
  const { isKept, versionMicros } = await keepReplaced(context, state, changes);
  const given = record === undefined || isKept ? [] : [record];
  const isGarbage = await releaseContents(context, keys, changes, given);
  if (isGarbage || record?.stage !== undefined) context.onGarbage();
  return { ...overwritten(state, replacement), versionMicros, content: undefined };
}

/** The record of a blob after Put Blob, Put Block List or a copy, its content aside. */
export function overwritten(state: BlobState, { kind, properties }: Replacement): BlobDraft {
  const { record } = state;
  const isKept = record !== undefined && record.state === 'committed';
  const fresh = newBlobDraft(kind);
  return {
    ...fresh,
    createdMicros: isKept ? record.createdMicros : fresh.createdMicros,
    headers: { ...fresh.headers, ...properties.headers },
    metadata: properties.metadata,
    tags: properties.tags,
    tier: properties.tier ?? tierKept(record, kind),
    immutability: properties.immutability,
    lease: leaseKept(state),
  };
}

/** A tier that was set stays, but a blob that replaces an archived one is not archived. */
function tierKept(record: BlobRecord | undefined, kind: BlobKind): BlobRecord['tier'] {
  if (kind !== 'block') return undefined;
  return record?.kind !== 'block' || record.tier?.tier === 'Archive' ? undefined : record.tier;
}

/**
 * Put Block (blob-service §12.3). Blocks of one blob may be put at the same time: they do not
 * conflict, except while the first of them makes the stage. The number of uncommitted blocks may
 * exceed its limit by as many as are put at once.
 */
export async function putBlock(
  context: BlobContext,
  address: BlobAddress,
  { id }: NewBlock,
  { body, leaseId }: Pick<Access, 'leaseId'> & { readonly body: Body },
): Promise<void> {
  const keys = await keysOf(context, address);
  const access = leaseId === undefined ? {} : { leaseId };
  const before = await readState(context, keys);
  checkPutBlock(before, id, access);
  const checkContainer = containerCheck(context, address, keys);
  await withNewPiece(context, { keys, body }, async (piece) => {
    await checkContainer();
    let isHinted = false;
    await changeBlobBeside(context, keys, async (state, changes) => {
      checkPutBlock(state, id, access);
      const { nowMicros, record } = state;
      const stage = await openBlockStage(context.store, keys, record, nowMicros);
      checkBlockIdLength(record, stage, id);
      putPiece(keys, changes, piece);
      if (stage !== undefined) {
        await addBlock(context, state, changes, { stage, id, piece });
        return () => undefined;
      }
      // The hint must be there before the stage is.
      if (!isHinted) await putBlockStageHint(context, keys, address.blob, nowMicros);
      isHinted = true;
      await dropBlockStage(context, keys, changes, record);
      if (state.deleted !== undefined) await keepReplaced(context, state, changes);
      beginStage(context, state, changes, { id, piece });
      return () => undefined;
    });
  });
}

interface Block {
  readonly id: Bytes;
  readonly piece: NewPiece;
}

/** Refuses a request as far as possible before its body is read. */
function checkPutBlock(state: BlobState, id: Bytes, access: Access): void {
  checkIsBlockBlob(state.record);
  checkWrite(state, access, 'change');
  if (state.record?.tier?.tier === 'Archive') throw new StorageError('BlobArchived');
  if (id.length === 0) throw new StorageError('InvalidBlockId');
}

/** All blocks of a blob have ids of one length. */
function checkBlockIdLength(
  record: BlobRecord | undefined,
  stage: OpenBlockStage | undefined,
  id: Bytes,
): void {
  for (const bytes of [record?.blockIdBytes, stage?.blockIdBytes]) {
    if (bytes !== undefined && bytes !== id.length) throw new StorageError('InvalidBlobOrBlock');
  }
}

/** Throws `InvalidBlobType`. */
export function checkIsBlockBlob(record: BlobRecord | undefined): void {
  if (record !== undefined && record.kind !== 'block') throw new StorageError('InvalidBlobType');
}

/** Makes the stage, and the uncommitted blob where there is none. */
function beginStage(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  { id, piece }: Block,
): void {
  const { keys, record } = state;
  const stage = { id: newId(context), blockIdBytes: id.length };
  const draft: BlobDraft = record ?? { ...newBlobDraft('block'), state: 'uncommitted' };
  putRecord(state, changes, { ...draft, stage, lease: leaseKept(state) });
  changes.put(keys.block(stage.id, id), encodeNewBlock(piece));
  changes.put(keys.blockCount(stage.id), encodeCounter(1));
}

/** Adds a block to the stage, or replaces the one with the same id. */
async function addBlock(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  { stage, id, piece }: Block & { readonly stage: OpenBlockStage },
): Promise<void> {
  const { keys, record } = state;
  const key = keys.block(stage.id, id);
  const replaced = await context.store.get(key);
  if (replaced === undefined && stage.blocks >= uncommittedBlocksMax) {
    throw new StorageError('BlockCountExceedsLimit');
  }
  changes.checkRead(key, replaced);
  changes.put(key, encodeNewBlock(piece));
  // The counter is written even when nothing is added, because its version is the time of the last
  // Put Block.
  changes.add(keys.blockCount(stage.id), replaced === undefined ? 1 : 0);
  if (replaced !== undefined) {
    const given = { blockId: undefined, ...decodeBlock(replaced.value) };
    const bornMicros = state.nowMicros;
    putPieceGarbage(keys, changes, { id: newId(context), segments: [given], bornMicros });
    context.onGarbage();
  }
  // A write resets a lease that is over.
  const lease = leaseKept(state);
  if (record !== undefined && record.lease !== lease)
    putRecord(state, changes, { ...record, lease });
}

function encodeNewBlock({ bytes, piece }: NewPiece): Bytes {
  // HTTP requests with an empty body are refused earlier; this is for callers in the process.
  if (piece === undefined) throw new StorageError('InvalidInput');
  return encodeBlock({ bytes, piece });
}
