import { sameKey } from '../../rows/row-parts.js';
import type { RowKey, StoredRow } from '../../rows/row.js';
import { putOver } from '../../table/conditional-write.js';
import type { RowWrite } from '../../table/gateway.js';
import { isWanted } from './beside-plan.js';
import { primaryOf, staleNames, type CopyEntry } from './index-entry.js';
import { IndexValueTakenError } from './index-errors.js';
import type { IndexPlaces } from './index-places.js';
import type { ResolvedCopies } from './with-indexes.js';

/** The stored and the expected copy at a key. */
export interface CopyAtKey {
  readonly index: ResolvedCopies;
  readonly key: RowKey;
  /** The entity that the copy is of. */
  readonly primary: RowKey;
  readonly stored: StoredRow | undefined;
  /** Undefined: the entity has no copy here. */
  readonly entry: CopyEntry | undefined;
}

/** A write that makes the copy match. `claims`: the key had no copy of this entity before. */
export interface MatchingWrite {
  readonly write: RowWrite;
  readonly claims: boolean;
}

/**
 * The write that makes the stored copy at a key match its entity, under the ETag that was read;
 * undefined when it matches. Throws `IndexValueTakenError` when the key belongs to another entity.
 */
export async function matchingWrite(
  places: IndexPlaces,
  { index, key, primary, stored, entry }: CopyAtKey,
): Promise<MatchingWrite | undefined> {
  const owner = stored === undefined ? undefined : primaryOf(index, stored);
  const isOwn = owner !== undefined && sameKey(owner, primary);
  if (entry === undefined) {
    if (stored === undefined || !isOwn) return undefined;
    return { write: { kind: 'delete', key, etag: stored.etag }, claims: false };
  }
  if (stored !== undefined && isOwn && staleNames(entry, stored).length === 0) return undefined;
  if (stored !== undefined && !isOwn && (await isWanted(places, index, owner, key))) {
    throw new IndexValueTakenError(index.name, key);
  }
  return { write: putOver(entry.row, stored?.etag), claims: !isOwn };
}
