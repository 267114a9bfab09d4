import type { BlobContext } from './blob-context.js';
import type { BlobRecord } from './blob-record.js';
import type { BlobState } from './blob-state.js';
import type { Keeping } from '../containers/kept-containers.js';
import { accountOfKey, blobNameOfKey, containerOfKey, dueHintKey, type BlobKeys } from './keys.js';
import type { ShownDeletion } from './types.js';

/** What a blob was at a time, as it is stored beside the blob. */
export interface PastRecord {
  readonly micros: number;
  readonly record: BlobRecord;
}

const microsPerDay = 24 * 60 * 60 * 1_000_000;

/** The time of a deletion, and when it is final after so many days. */
export function keepingFor(days: number, nowMicros: number): Keeping {
  return { micros: nowMicros, purgedMicros: nowMicros + days * microsPerDay };
}

/** What lists show of a deletion. Begun days count. */
export function shownDeletion({ micros, purgedMicros }: Keeping, nowMicros: number): ShownDeletion {
  const remainingDays = Math.max(0, Math.ceil((purgedMicros - nowMicros) / microsPerDay));
  return { timeMicros: micros, remainingDays };
}

/** Hints stand at multiples of it, so that a blob that is often overwritten has few. */
const hintStepMicros = 60 * 1_000_000;

/**
 * What the record of something says that is deleted now; undefined when its account keeps nothing
 * (blob-service §16.3). The hint that leads the sweep to it is stored when this resolves.
 */
export async function deletionMark(
  context: Pick<BlobContext, 'store' | 'retention'>,
  { keys, nowMicros }: Pick<BlobState, 'keys' | 'nowMicros'>,
): Promise<BlobRecord['deleted']> {
  const policy = await context.retention(accountOfKey(keys.base));
  if (policy?.enabled !== true || policy.days === undefined) return undefined;
  const keeping = keepingFor(policy.days, nowMicros);
  await putPurgeHint(context, keys, keeping.purgedMicros);
  return keeping;
}

async function putPurgeHint(
  { store }: Pick<BlobContext, 'store'>,
  keys: BlobKeys,
  purgedMicros: number,
): Promise<void> {
  const container = containerOfKey(keys.base);
  const micros = Math.ceil(purgedMicros / hintStepMicros) * hintStepMicros;
  const key = dueHintKey(container, micros, blobNameOfKey(keys.base, container));
  // An existing hint need not be renewed: the sweep deletes it only when it is due.
  if ((await store.get(key)) !== undefined) return;
  await store.commit({ checks: [], puts: [{ key, value: Buffer.alloc(0) }], deletes: [] });
}

/**
 * A record as that of a snapshot or a version, which has neither a lease nor uncommitted blocks,
 * and shares its page map with nobody that comes after it.
 */
export function asPast(record: BlobRecord): BlobRecord {
  const page = record.page && { ...record.page, sharedGeneration: 0 };
  return { ...record, page, lease: undefined, stage: undefined };
}

/** The record of a blob that is deleted and kept. */
export function asDeleted(record: BlobRecord, deleted: BlobRecord['deleted']): BlobRecord {
  return { ...asPast(record), deleted };
}

/**
 * The same of a snapshot or a version with this name, or of what a write has replaced. It is not
 * deleted before the time that its name says: `wasBlob` tells by that what it was.
 */
export function asDeletedPast(
  { micros, record }: PastRecord,
  deleted: NonNullable<BlobRecord['deleted']>,
): PastRecord {
  const marked = { ...deleted, micros: Math.max(deleted.micros, micros) };
  return { micros, record: asDeleted(record, marked) };
}

/**
 * Whether a deleted record beside a blob is that of a deleted blob, which gave its name to another:
 * its own name there says when that was, after the deletion.
 */
export function wasBlob({ micros, record }: PastRecord): boolean {
  return record.deleted !== undefined && micros > record.deleted.micros;
}
