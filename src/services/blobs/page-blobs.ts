import type { SequenceConditions } from '../../model/blobs/conditions.js';
import type { ContentHeaders } from '../../model/blobs/properties.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { unreachable } from '../../base/invariant.js';
import { newId, type BlobContext } from './blob-context.js';
import type { BlobDraft, BlobRecord, PageState } from './blob-record.js';
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
import { pageBlobBytesMax, pageRangesPerCommitMax } from './limits.js';
import { putPiece, withNewPiece } from './new-piece.js';
import { pageViewOf, planPageWrite, rangesSeen } from './page-map.js';
import type { PageRange } from './page-range.js';
import type { Bounds } from './byte-run.js';
import { checkChangeable } from './protection.js';
import { putTagHints } from './tag-hints.js';
import { checkGivenTier } from './tiers.js';
import type { Access, BlobAddress, Body, NewProperties, Written } from './types.js';

/** Page blobs consist of pages, which are written whole (blob-service §14). */
export const pageBytes = 512;
/** 2^63 - 1 */
const sequenceNumberMax = 9_223_372_036_854_775_807n;

export interface NewPageBlob extends NewProperties {
  /** A multiple of 512, up to `pageBlobBytesMax`. */
  readonly bytes: number;
  readonly sequenceNumber: bigint;
}

export interface WrittenPages extends Written {
  readonly sequenceNumber: bigint;
}

/** The state of the page blob that a request demands. */
export interface PageAccess extends Access {
  readonly sequence?: SequenceConditions;
}

/** Put Blob of a page blob (blob-service §14): replaces what is there by zeros. */
export async function putPageBlob(
  context: BlobContext,
  address: BlobAddress,
  { bytes, sequenceNumber, ...properties }: NewPageBlob,
  access: Access,
): Promise<WrittenPages> {
  checkPageBlobBytes(bytes);
  checkGivenTier('page', properties.tier, bytes);
  const keys = await keysOf(context, address);
  await putTagHints(context, keys, properties.tags);
  return changeBlob(context, keys, async (state, changes) => {
    checkWrite(state, access, 'create');
    const draft = await replacing(context, state, changes, { kind: 'page', properties });
    const written = putRecord(state, changes, {
      ...draft,
      bytes,
      content: { id: newId(context), isChunked: false, tail: [] },
      page: { sequenceNumber, generation: 1, sharedGeneration: 0 },
    });
    return (version) => ({ ...written(version), sequenceNumber });
  });
}

/** HTTP requests with another size are refused earlier, with the name of the header. */
function checkPageBlobBytes(bytes: number): void {
  if (bytes % pageBytes !== 0 || bytes > pageBlobBytesMax) throw new StorageError('InvalidInput');
}

/**
 * Put Page (blob-service §14): the body replaces the bytes within the bounds, which are those of
 * pages. A body of another length is `InvalidInput`. A request that must be refused is refused
 * before its body is read, and checked again afterwards.
 */
export async function putPages(
  context: BlobContext,
  address: BlobAddress,
  bounds: Bounds,
  { body, ...access }: PageAccess & { readonly body: Body },
): Promise<WrittenPages> {
  const keys = await keysOf(context, address);
  checkPageWrite(await readState(context, keys), bounds, access);
  return withNewPiece(context, { keys, body }, (taken) =>
    changeBlob(context, keys, async (state, changes) => {
      const target = checkPageWrite(state, bounds, access);
      const { piece } = taken;
      if (taken.bytes !== bounds.end - bounds.start || piece === undefined) {
        throw new StorageError('InvalidInput');
      }
      putPiece(keys, changes, taken);
      const { overlapped } = await overlap(context, state, target.record, bounds);
      const view = pageViewOf(target.record);
      const write = { ...bounds, piece, overlapped };
      if (await planPageWrite(context, keys, changes, view, write)) context.onGarbage();
      return putPageRecord(state, changes, target);
    }),
  );
}

/**
 * Clear Pages (blob-service §14): zeros replace the bytes within the bounds. More than
 * `pageRangesPerCommitMax` ranges are cleared by several commits, from the first on. Concurrent
 * requests may see a part of them cleared, and so it stays when the server ends.
 */
export async function clearPages(
  context: BlobContext,
  address: BlobAddress,
  bounds: Bounds,
  access: PageAccess,
): Promise<WrittenPages> {
  const check = (state: BlobState) => checkPageWrite(state, bounds, access);
  return changeInSteps(context, address, check, () => ({
    cleared: bounds,
    change: (draft) => draft,
  }));
}

/** What Set Blob Properties does to the sequence number (blob-service §14). */
export type SequenceAction =
  | { readonly kind: 'max' | 'update'; readonly sequenceNumber: bigint }
  | { readonly kind: 'increment' };

/** The changes of Set Blob Properties to a page blob; absent ones leave the value as it is. */
export interface PageBlobChange {
  /** Replaces all headers. */
  readonly headers?: ContentHeaders;
  /** A multiple of 512, up to `pageBlobBytesMax`. Less than before discards pages. */
  readonly bytes?: number;
  readonly sequence?: SequenceAction;
}

/**
 * Set Blob Properties of a page blob (blob-service §14, §15.1). Pages that are discarded are
 * cleared first, as by `clearPages`. Throws `BlobTierInadequateForContentLength` for a size that
 * the tier of the blob does not hold. A protected blob keeps its size.
 */
export async function changePageBlob(
  context: BlobContext,
  address: BlobAddress,
  { headers, bytes, sequence }: PageBlobChange,
  access: Access,
): Promise<WrittenPages> {
  if (bytes !== undefined) checkPageBlobBytes(bytes);
  const check = (state: BlobState) => {
    const target = pageBlobOf(state, access);
    if (bytes !== undefined) {
      checkChangeable(target.record);
      checkGivenTier('page', target.record.tier, bytes);
    }
    return target;
  };
  return changeInSteps(context, address, check, ({ record, page }) => ({
    cleared: { start: bytes ?? record.bytes, end: record.bytes },
    change: (draft) => ({
      ...draft,
      ...(headers !== undefined && { headers }),
      ...(bytes !== undefined && { bytes }),
      copy: undefined,
      page: sequence === undefined ? page : numbered(page, sequence),
    }),
  }));
}

function numbered(page: PageState, action: SequenceAction): PageState {
  return { ...page, sequenceNumber: sequenceAfter(page.sequenceNumber, action) };
}

function sequenceAfter(current: bigint, action: SequenceAction): bigint {
  switch (action.kind) {
    case 'max':
      return action.sequenceNumber > current ? action.sequenceNumber : current;
    case 'update':
      return action.sequenceNumber;
    case 'increment':
      if (current >= sequenceNumberMax) throw new StorageError('SequenceNumberIncrementTooLarge');
      return current + 1n;
    default:
      return unreachable(action);
  }
}

interface PageTarget {
  readonly record: BlobRecord;
  readonly page: PageState;
}

interface SteppedChange {
  /** The bytes to clear; none when the start is not before the end. */
  readonly cleared: Bounds;
  /** The change of the record once the bytes are cleared. */
  readonly change: (draft: BlobDraft & PageTarget['record']) => BlobDraft;
}

/** Clears bytes of a page blob in several commits; the last one also changes its record. */
async function changeInSteps(
  context: BlobContext,
  address: BlobAddress,
  check: (state: BlobState) => PageTarget,
  planOf: (target: PageTarget) => SteppedChange,
): Promise<WrittenPages> {
  const keys = await keysOf(context, address);
  for (let before: number | undefined; ;) {
    const step = await changeBlob(context, keys, async (state, changes) => {
      // The conditions are about the blob before the first step, which itself changes the ETag.
      const isOwn = before !== undefined && state.record?.modifiedMicros === before;
      const target = isOwn ? stillChangeable(state) : check(state);
      const { cleared, change } = planOf(target);
      const { overlapped, more } = await overlap(context, state, target.record, cleared);
      const end = more === undefined ? cleared.end : Math.max(cleared.start, more);
      const write = { ...cleared, end, piece: undefined, overlapped };
      const view = pageViewOf(target.record);
      if (await planPageWrite(context, keys, changes, view, write)) context.onGarbage();
      const isDone = more === undefined;
      const written = putPageRecord(state, changes, target, isDone ? change : undefined);
      return (version) => ({ isDone, written: written(version) });
    });
    if (step.isDone) return step.written;
    before = step.written.modifiedMicros;
  }
}

/**
 * The first entries that a record sees within bounds, and where the next one begins when there are
 * more.
 */
async function overlap(
  { store }: BlobContext,
  { keys }: BlobState,
  record: BlobRecord,
  bounds: Bounds,
): Promise<{ readonly overlapped: readonly PageRange[]; readonly more: number | undefined }> {
  const overlapped: PageRange[] = [];
  if (bounds.start >= bounds.end) return { overlapped, more: undefined };
  for await (const range of rangesSeen(store, keys, pageViewOf(record), bounds)) {
    if (overlapped.length >= pageRangesPerCommitMax) return { overlapped, more: range.offset };
    overlapped.push(range);
  }
  return { overlapped, more: undefined };
}

function putPageRecord(
  state: BlobState,
  changes: Changes,
  { record }: PageTarget,
  change: (draft: BlobRecord) => BlobDraft = (draft) => draft,
): (version: number) => WrittenPages {
  const draft = change(record);
  const written = putRecord(state, changes, {
    ...draft,
    modifiedMicros: 'commit',
    lease: leaseKept(state),
  });
  const { sequenceNumber } = draft.page ?? { sequenceNumber: 0n };
  return (version) => ({ ...written(version), sequenceNumber });
}

function pageBlobOf(state: BlobState, access: Access): PageTarget {
  const target = targetOf(existing(state.record));
  checkWrite(state, access, 'change');
  return target;
}

/** Checks the blob again before each step, because it may have been protected since the first. */
function stillChangeable(state: BlobState): PageTarget {
  const target = targetOf(existing(state.record));
  checkChangeable(target.record);
  return target;
}

/** Throws `InvalidBlobType`. */
function targetOf(record: BlobRecord): PageTarget {
  const { page } = record;
  if (page === undefined) throw new StorageError('InvalidBlobType');
  return { record, page };
}

function checkPageWrite(state: BlobState, { start, end }: Bounds, access: PageAccess): PageTarget {
  const target = pageBlobOf(state, access);
  checkSequence(target.page, access.sequence ?? {});
  checkChangeable(target.record);
  const isAligned = start % pageBytes === 0 && end % pageBytes === 0 && start < end;
  if (!isAligned || end > target.record.bytes) throw new StorageError('InvalidPageRange');
  return target;
}

function checkSequence(
  { sequenceNumber }: PageState,
  { lessOrEqual, less, equal }: SequenceConditions,
): void {
  const isMet =
    (lessOrEqual === undefined || sequenceNumber <= lessOrEqual) &&
    (less === undefined || sequenceNumber < less) &&
    (equal === undefined || sequenceNumber === equal);
  if (!isMet) throw new StorageError('SequenceNumberConditionNotMet');
}
