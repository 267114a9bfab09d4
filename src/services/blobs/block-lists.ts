import { Slice } from '../../base/async/slice.js';
import { nameOfBytes, type Bytes } from '../../base/bytes.js';
import type { BlockInfo, BlockList, BlockReference } from '../../model/blobs/block-list.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkMetadata } from '../containers/metadata.js';
import { type BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import {
  changeBlob,
  checkWrite,
  committedOf,
  findPast,
  keysOf,
  pastMicros,
  putRecord,
  readState,
  type BlobState,
} from './blob-state.js';
import { checkIsBlockBlob, overwritten } from './block-blobs.js';
import type { Changes } from './changes.js';
import { checkReadConditions } from './conditions.js';
import { putContent, putContentGarbage, segmentsFrom, dropReferences } from './contents.js';
import type { BlobKeys } from './keys.js';
import { checkLease } from './lease.js';
import { committedBlocksMax } from './limits.js';
import { ReferenceBalance } from './reference-balance.js';
import type { Content, Segment } from './segments.js';
import {
  blocksOf,
  dropBlockStage,
  endBlockStage,
  openBlockStage,
  type OpenBlockStage,
  type StagedBlock,
} from './block-stages.js';
import { putTagHints } from './tag-hints.js';
import { checkGivenTier } from './tiers.js';
import { keepReplaced } from './versions.js';
import type {
  Access,
  BlobAddress,
  BlockListKind,
  BlobStateSelector,
  NewProperties,
  SnapshotAddress,
  Written,
} from './types.js';

/**
 * Put Block List (blob-service §12.4): the blob consists of these blocks, in this order.
 * Properties, metadata and tags are replaced; uncommitted blocks that are not named are dropped.
 * Committed blocks that are named are not stored again.
 */
export async function putBlockList(
  context: BlobContext,
  address: BlobAddress,
  { blocks, ...properties }: NewProperties & { readonly blocks: readonly BlockReference[] },
  access: Access,
): Promise<Written> {
  checkMetadata(properties.metadata);
  if (blocks.length > committedBlocksMax) throw new StorageError('BlockListTooLong');
  checkGivenTier('block', properties.tier, 0);
  const keys = await keysOf(context, address);
  await putTagHints(context, keys, properties.tags);
  return changeBlob(context, keys, async (state, changes) => {
    checkIsBlockBlob(state.record);
    checkWrite(state, access, 'create');
    if (state.record?.tier?.tier === 'Archive') throw new StorageError('BlobArchived');
    const available = await availableBlocks(context, state);
    const segments = await resolveAll(context, available, blocks);
    const content = await putContent(context, keys, changes, segments);
    const { isKept, versionMicros } = await keepReplaced(context, state, changes);
    await settleReferences(context, state, changes, { available, segments, isKept });
    context.onGarbage();
    return putRecord(state, changes, {
      ...overwritten(state, { kind: 'block', properties }),
      versionMicros,
      bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
      content,
      blockIdBytes: segments[0]?.blockId?.length,
    });
  });
}

/** The blocks that a list may name. */
interface AvailableBlocks {
  /** Every segment of the blob, including those that never were blocks. */
  readonly segments: readonly Segment[];
  readonly committed: ReadonlyMap<string, Segment>;
  readonly uncommitted: ReadonlyMap<string, StagedBlock>;
  readonly stage: OpenBlockStage | undefined;
}

async function availableBlocks(
  { store }: BlobContext,
  { keys, record, nowMicros }: BlobState,
): Promise<AvailableBlocks> {
  const segments: Segment[] = [];
  const committed = new Map<string, Segment>();
  const uncommitted = new Map<string, StagedBlock>();
  if (record !== undefined) {
    for await (const segment of segmentsFrom(store, keys, record, 0)) {
      segments.push(segment);
      if (segment.blockId !== undefined) committed.set(nameOfBytes(segment.blockId), segment);
    }
  }
  // Its counter is read before its blocks: a block that is put meanwhile makes the commit fail.
  const stage = await openBlockStage(store, keys, record, nowMicros);
  if (stage !== undefined) {
    for await (const block of blocksOf(store, keys, stage)) {
      uncommitted.set(nameOfBytes(block.blockId), block);
    }
  }
  return { segments, committed, uncommitted, stage };
}

async function resolveAll(
  { clock }: BlobContext,
  available: AvailableBlocks,
  blocks: readonly BlockReference[],
): Promise<Segment[]> {
  const slice = new Slice(clock);
  const segments: Segment[] = [];
  for (const block of blocks) {
    segments.push(resolve(available, block));
    if (slice.isOver) await slice.endOnTime();
  }
  return segments;
}

function resolve({ committed, uncommitted }: AvailableBlocks, block: BlockReference): Segment {
  const name = nameOfBytes(block.id);
  const found =
    block.source === 'committed'
      ? committed.get(name)
      : (uncommitted.get(name) ?? (block.source === 'latest' ? committed.get(name) : undefined));
  if (found === undefined) throw new StorageError('InvalidBlockList');
  return found;
}

/**
 * Updates the reference counts of pieces: the old content and the stage lose their references, and
 * the new content has some of the same pieces, perhaps several times. Pieces without a reference
 * become garbage. The entries of the old content stay for present readers. `isKept`: the old
 * content keeps its references.
 */
async function settleReferences(
  context: BlobContext,
  { keys, record, nowMicros: bornMicros }: BlobState,
  changes: Changes,
  {
    available,
    segments,
    isKept,
  }: {
    readonly available: AvailableBlocks;
    readonly segments: readonly Segment[];
    readonly isKept: boolean;
  },
): Promise<void> {
  const references = new ReferenceBalance();
  const slice = new Slice(context.clock);
  const count = async (counted: Iterable<Segment>, by: 1 | -1): Promise<void> => {
    for (const segment of counted) {
      references.add(segment, by);
      if (slice.isOver) await slice.endOnTime();
    }
  };
  await count(segments, 1);
  const { stage } = available;
  if (stage === undefined) await dropBlockStage(context, keys, changes, record);
  else {
    await count(available.uncommitted.values(), -1);
    endBlockStage(keys, changes, stage, { pieces: 'kept', bornMicros });
  }
  const old = isKept ? undefined : record?.content;
  if (old !== undefined && (await isReleased(context, keys, changes, old))) {
    await count(available.segments, -1);
    const garbage = { pieces: 'kept', bornMicros } as const;
    putContentGarbage(keys, changes, { content: old, kind: 'block' }, garbage);
  }
  await references.settle(context, keys, changes);
}

/** Removes the record's reference to its content. False when a snapshot refers to it as well. */
async function isReleased(
  { store }: BlobContext,
  keys: BlobKeys,
  changes: Changes,
  { id }: Content,
): Promise<boolean> {
  const key = keys.contentReferences(id);
  return dropReferences(changes, key, await store.get(key), 1) < 0;
}

/** What Get Block List returns. */
export interface BlockListReading {
  readonly blocks: BlockList;
  /** The bytes of the committed blob; 0 when there is none. */
  readonly bytes: number;
  /** Absent while the blob is uncommitted. */
  readonly modifiedMicros?: number;
}

/** Get Block List (blob-service §12.5), of a blob or a snapshot. */
export async function getBlockList(
  context: BlobContext,
  address: SnapshotAddress,
  kind: BlockListKind,
  access: Access,
): Promise<BlockListReading> {
  const keys = await keysOf(context, address);
  const { record, nowMicros } = await listedRecord(context, keys, address);
  if (record === undefined || record.deleted !== undefined) throw new StorageError('BlobNotFound');
  checkIsBlockBlob(record);
  const { leaseId, conditions = {} } = access;
  checkLease(record.lease, { id: leaseId, use: 'read' }, { holder: 'blob', nowMicros });
  checkReadConditions(conditions, record);
  const stage = await openBlockStage(context.store, keys, record, nowMicros);
  const committed = committedOf(record);
  if (committed === undefined && stage === undefined) throw new StorageError('BlobNotFound');
  const blocks = {
    ...(kind !== 'uncommitted' && { committed: await committedBlocks(context, keys, record) }),
    ...(kind !== 'committed' && { uncommitted: await uncommittedBlocks(context, keys, stage) }),
  };
  return {
    blocks,
    bytes: record.bytes,
    ...(committed !== undefined && { modifiedMicros: committed.modifiedMicros }),
  };
}

async function listedRecord(
  context: BlobContext,
  keys: BlobKeys,
  selector: BlobStateSelector,
): Promise<Pick<BlobState, 'record' | 'nowMicros'>> {
  const state = await readState(context, keys);
  if (pastMicros(state.record, selector) === undefined) return state;
  const { nowMicros } = state;
  return { record: await findPast(context, keys, selector), nowMicros };
}

async function committedBlocks(
  { store }: BlobContext,
  keys: BlobKeys,
  record: BlobRecord,
): Promise<BlockInfo[]> {
  const blocks: BlockInfo[] = [];
  for await (const { blockId, bytes } of segmentsFrom(store, keys, record, 0)) {
    if (blockId !== undefined) blocks.push({ id: blockId, bytes });
  }
  return blocks;
}

/** In the order of their ids as base64. */
async function uncommittedBlocks(
  { store }: BlobContext,
  keys: BlobKeys,
  stage: OpenBlockStage | undefined,
): Promise<BlockInfo[]> {
  if (stage === undefined) return [];
  const named: { readonly name: string; readonly block: BlockInfo }[] = [];
  for await (const { blockId, bytes } of blocksOf(store, keys, stage)) {
    named.push({ name: textOf(blockId), block: { id: blockId, bytes } });
  }
  named.sort((left, right) => (left.name < right.name ? -1 : 1));
  return named.map(({ block }) => block);
}

function textOf(id: Bytes): string {
  return Buffer.from(id).toString('base64');
}
