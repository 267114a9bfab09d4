import type { AppendConditions } from '../../model/blobs/conditions.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkWrite,
  existing,
  keysOf,
  leaseKept,
  putRecord,
  readState,
  type BlobState,
} from './blob-state.js';
import { replacing } from './block-blobs.js';
import type { Changes } from './changes.js';
import { appendSegment } from './append-content.js';
import { appendedBlocksMax } from './limits.js';
import { putPiece, withNewPiece, type NewPiece } from './new-piece.js';
import { checkChangeable } from './protection.js';
import { putTagHints } from './tag-hints.js';
import { checkGivenTier } from './tiers.js';
import type { Access, BlobAddress, Body, NewProperties, Written } from './types.js';

/**
 * Put Blob of an append blob (blob-service §13): replaces any blob of this name by an empty one.
 */
export async function putAppendBlob(
  context: BlobContext,
  address: BlobAddress,
  properties: NewProperties,
  access: Access,
): Promise<Written> {
  checkGivenTier('append', properties.tier, 0);
  const keys = await keysOf(context, address);
  await putTagHints(context, keys, properties.tags);
  return changeBlob(context, keys, async (state, changes) => {
    checkWrite(state, access, 'create');
    const draft = await replacing(context, state, changes, { kind: 'append', properties });
    return putRecord(state, changes, { ...draft, append: { count: 0, isSealed: false } });
  });
}

export interface Appended extends Written {
  /** Where the bytes were placed. */
  readonly offset: number;
  /** The blocks of the blob. */
  readonly count: number;
}

/** The state of the append blob that a request demands. */
export interface AppendAccess extends Access {
  readonly append?: AppendConditions;
}

/**
 * Append Block (blob-service §13). Appends to one blob are serialised: each one that resolves is in
 * the blob once, and whole. A request that must be refused is refused before its body is read, and
 * checked again afterwards.
 */
export async function appendBlock(
  context: BlobContext,
  address: BlobAddress,
  { body, ...access }: AppendAccess & { readonly body: Body },
): Promise<Appended> {
  const keys = await keysOf(context, address);
  checkAppend(await readState(context, keys), access, 0);
  return withNewPiece(context, { keys, body }, (piece) =>
    changeBlob(context, keys, async (state, changes) => {
      const { record, append } = checkAppend(state, access, piece.bytes);
      const written = await putAppended(context, state, changes, { record, append, piece });
      return (version) => ({
        ...written(version),
        offset: record.bytes,
        count: append.count + 1,
      });
    }),
  );
}

interface AppendTarget {
  readonly record: BlobRecord;
  readonly append: NonNullable<BlobRecord['append']>;
}

async function putAppended(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  { record, append, piece: taken }: AppendTarget & { readonly piece: NewPiece },
): Promise<(version: number) => Written> {
  const { bytes, piece } = taken;
  // HTTP requests with an empty body are refused earlier; this is for callers in the process.
  if (piece === undefined) throw new StorageError('InvalidInput');
  putPiece(state.keys, changes, taken);
  const segment = { blockId: undefined, bytes, piece };
  const content = await appendSegment(context, state.keys, changes, record, segment);
  return putRecord(state, changes, {
    ...record,
    modifiedMicros: 'commit',
    copy: undefined,
    lease: leaseKept(state),
    bytes: record.bytes + bytes,
    content,
    append: { ...append, count: append.count + 1 },
  });
}

function checkAppend(state: BlobState, access: AppendAccess, bytes: number): AppendTarget {
  const target = appendBlobOf(state, access);
  const { record, append } = target;
  if (append.isSealed) throw new StorageError('BlobIsSealed');
  checkChangeable(record);
  const { appendPosition, maxBytes } = access.append ?? {};
  checkPosition(record, appendPosition);
  if (maxBytes !== undefined && record.bytes + bytes > maxBytes) {
    throw new StorageError('MaxBlobSizeConditionNotMet');
  }
  if (append.count >= appendedBlocksMax) throw new StorageError('BlockCountExceedsLimit');
  return target;
}

function appendBlobOf(state: BlobState, access: Access): AppendTarget {
  const record = existing(state.record);
  const { append } = record;
  if (append === undefined) throw new StorageError('InvalidBlobType');
  checkWrite(state, access, 'change');
  return { record, append };
}

function checkPosition({ bytes }: BlobRecord, position: number | undefined): void {
  if (position !== undefined && position !== bytes) {
    throw new StorageError('AppendPositionConditionNotMet');
  }
}

/** Append Blob Seal (blob-service §13): no more appends. The ETag stays. */
export async function sealAppendBlob(
  context: BlobContext,
  address: BlobAddress,
  access: AppendAccess,
): Promise<Written> {
  const keys = await keysOf(context, address);
  return changeBlob(context, keys, async (state, changes) => {
    const { record, append } = appendBlobOf(state, access);
    checkPosition(record, access.append?.appendPosition);
    return putRecord(state, changes, {
      ...record,
      lease: leaseKept(state),
      append: { ...append, isSealed: true },
    });
  });
}
