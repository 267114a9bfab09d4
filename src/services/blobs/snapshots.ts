import { unreachable } from '../../base/invariant.js';
import type { Metadata } from '../../model/resources/metadata.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { checkMetadata } from '../containers/metadata.js';
import { tailInChunks } from './append-content.js';
import type { BlobContext } from './blob-context.js';
import {
  encodeBlobRecord,
  type BlobDraft,
  type BlobRecord,
  type CommitTime,
} from './blob-record.js';
import { changeBlob, existing, keysOf, putRecord, type BlobState } from './blob-state.js';
import type { Changes } from './changes.js';
import { checkWriteConditions } from './conditions.js';
import { checkLease } from './lease.js';
import type { Access, BlobAddress, Written } from './types.js';

/** A snapshot of a blob. */
export interface TakenSnapshot extends Written {
  /** Its name: later than those of all earlier snapshots of the blob. */
  readonly snapshotMicros: number;
}

/**
 * Snapshot Blob (blob-service §16.1): the blob as it is, to be read later. Takes one commit,
 * however large the blob is, and the bytes are not stored again. A lease does not stand in the way,
 * but a lease id that is sent must match. `metadata`: replaces that of the snapshot, which has an
 * ETag of its own then.
 */
export async function snapshotBlob(
  context: BlobContext,
  address: BlobAddress,
  { metadata }: { readonly metadata?: Metadata | undefined },
  { leaseId, conditions = {} }: Access,
): Promise<TakenSnapshot> {
  if (metadata !== undefined) checkMetadata(metadata);
  const keys = await keysOf(context, address);
  return changeBlob(context, keys, async (state, changes) => {
    const record = existing(state.record);
    const { nowMicros } = state;
    checkLease(record.lease, { id: leaseId, use: 'read' }, { holder: 'blob', nowMicros });
    checkWriteConditions(conditions, record, 'change');
    if (record.tier?.tier === 'Archive') throw new StorageError('BlobArchived');
    const taken = await takeSnapshot(context, state, changes, record);
    const modifiedMicros: CommitTime = metadata === undefined ? record.modifiedMicros : 'commit';
    const draft = { ...taken.draft, metadata: metadata ?? record.metadata, modifiedMicros };
    changes.put(keys.version(taken.snapshotMicros), encodeBlobRecord(draft));
    return (version) => ({
      snapshotMicros: taken.snapshotMicros,
      modifiedMicros: modifiedMicros === 'commit' ? version : modifiedMicros,
    });
  });
}

/**
 * Lets a commit share what a blob has with another record of the blob. Writes the blob's own record
 * anew, so that whoever deletes the blob without its snapshots, or changes it, notices.
 */
export async function takeSnapshot(
  context: BlobContext,
  state: BlobState,
  changes: Changes,
  record: BlobRecord,
): Promise<{ readonly snapshotMicros: number; readonly draft: BlobDraft }> {
  const { keys } = state;
  const { content } = await shareable(context, state, changes, record);
  if (content !== undefined) changes.add(keys.contentNames(content.id), 1);
  putRecord(state, changes, { ...record, content, page: pageAfter(record) });
  const snapshotMicros = await newSnapshotMicros(context, state);
  return {
    snapshotMicros,
    draft: { ...record, content, page: pageOf(record), stage: undefined, lease: undefined },
  };
}

/** The content in a form in which later writes of the blob do not change what a snapshot reads. */
async function shareable(
  context: BlobContext,
  { keys }: BlobState,
  changes: Changes,
  record: BlobRecord,
): Promise<Pick<BlobRecord, 'content'>> {
  const { kind, content, bytes } = record;
  if (content === undefined) return { content };
  switch (kind) {
    case 'block':
    case 'page':
      return { content };
    case 'append':
      return { content: await tailInChunks(context, keys, changes, { content, bytes }) };
    default:
      return unreachable(kind);
  }
}

/** The snapshot keeps the generation of the page map; the blob writes the next one. */
function pageAfter({ page }: BlobRecord): BlobRecord['page'] {
  if (page === undefined) return undefined;
  const { generation } = page;
  return { ...page, generation: generation + 1, sharedGeneration: generation };
}

function pageOf({ page }: BlobRecord): BlobRecord['page'] {
  return page === undefined ? undefined : { ...page, sharedGeneration: 0 };
}

/** The time of a new snapshot: after those of all that there are, deleted ones included. */
export async function newSnapshotMicros(
  { store }: Pick<BlobContext, 'store'>,
  { keys, nowMicros }: Pick<BlobState, 'keys' | 'nowMicros'>,
): Promise<number> {
  const { entries } = await store.range(keys.versions(), { limit: 1, bytesMax: 0, reverse: true });
  const [last] = entries;
  return last === undefined ? nowMicros : Math.max(nowMicros, keys.microsOf(last.key) + 1);
}
