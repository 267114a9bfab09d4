import type { BlobConditions, EtagCondition } from '../../model/blobs/conditions.js';
import { tagsMeet } from '../../model/blobs/tag-expression.js';
import type { Tags } from '../../model/blobs/tags.js';
import { notModified } from '../../model/errors/blob-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';

/** What conditions are about: a blob, a snapshot, or a container (which has no tags). */
export interface Conditioned {
  readonly modifiedMicros: number;
  readonly tags?: Tags;
}

/**
 * What a failed condition of a write means. `create`: the write replaces the blob or makes one, so
 * `If-None-Match: *` on an existing blob is `BlobAlreadyExists` (blob-service §9.3). `source`: the
 * conditions are about the source of a copy.
 */
export type ConditionUse = 'create' | 'change' | 'source';

/**
 * Refuses a read whose conditions do not hold (blob-service §9.2): 412, or 304 when the client has
 * the result already.
 */
export function checkReadConditions(conditions: BlobConditions, target: Conditioned): void {
  const { ifMatch, ifNoneMatch, ifModifiedSinceSeconds: since } = conditions;
  if (ifMatch !== undefined && !matches(ifMatch, target)) throw new StorageError('ConditionNotMet');
  if (!isUnmodifiedSince(conditions.ifUnmodifiedSinceSeconds, target)) {
    throw new StorageError('ConditionNotMet');
  }
  if (!hasTags(conditions, target)) throw new StorageError('ConditionNotMet');
  if (ifNoneMatch === undefined && since === undefined) return;
  const isOther = ifNoneMatch !== undefined && !matches(ifNoneMatch, target);
  const isLater = since !== undefined && isModifiedSince(since, target);
  if (!isOther && !isLater) throw notModified(target.modifiedMicros);
}

/**
 * Refuses a write whose conditions do not hold (blob-service §9.3).
 * `target`: undefined when there is no blob or only an uncommitted one.
 */
export function checkWriteConditions(
  conditions: BlobConditions,
  target: Conditioned | undefined,
  use: ConditionUse,
): void {
  const { ifMatch, ifNoneMatch } = conditions;
  if (target === undefined) {
    if (ifMatch !== undefined) throw notMet(use);
    return;
  }
  if (ifNoneMatch === 'any' && use === 'create') throw new StorageError('BlobAlreadyExists');
  if (!areMet(conditions, target) || !hasTags(conditions, target)) {
    throw notMet(use);
  }
}

/** Where an etag and its time are both given, the etag decides. */
function areMet(conditions: BlobConditions, target: Conditioned): boolean {
  const { ifMatch, ifNoneMatch, ifModifiedSinceSeconds: since } = conditions;
  const isSame =
    ifMatch === undefined
      ? isUnmodifiedSince(conditions.ifUnmodifiedSinceSeconds, target)
      : matches(ifMatch, target);
  const isOther =
    ifNoneMatch === undefined
      ? since === undefined || isModifiedSince(since, target)
      : !matches(ifNoneMatch, target);
  return isSame && isOther;
}

function matches(etags: EtagCondition, { modifiedMicros }: Conditioned): boolean {
  return etags === 'any' || etags.includes(modifiedMicros);
}

function isModifiedSince(sinceSeconds: number, { modifiedMicros }: Conditioned): boolean {
  return modifiedSeconds(modifiedMicros) > sinceSeconds;
}

function isUnmodifiedSince(
  sinceSeconds: number | undefined,
  { modifiedMicros }: Conditioned,
): boolean {
  return sinceSeconds === undefined || modifiedSeconds(modifiedMicros) <= sinceSeconds;
}

/** The second that `Last-Modified` shows. */
function modifiedSeconds(micros: number): number {
  return Math.floor(micros / 1_000_000);
}

function hasTags({ ifTags }: BlobConditions, { tags = [] }: Conditioned): boolean {
  return ifTags === undefined || tagsMeet(ifTags, tags);
}

function notMet(use: ConditionUse): StorageError {
  return new StorageError(use === 'source' ? 'SourceConditionNotMet' : 'ConditionNotMet');
}
