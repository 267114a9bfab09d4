import type { StoredRow } from '../../rows/row.js';
import { changedEntityError } from '../../table/refusals.js';

/**
 * Throws `ConditionFailedError`, as the service would, unless the row has the given ETag; '*'
 * matches any.
 */
export function requireVersion(row: StoredRow, etag: string): void {
  if (etag === '*' || decoded(etag) === decoded(row.etag)) return;
  throw changedEntityError('the row', row);
}

/** Headers and bodies encode the colons of an ETag differently. */
function decoded(etag: string): string {
  return etag.replaceAll(/%3a/gi, ':');
}
