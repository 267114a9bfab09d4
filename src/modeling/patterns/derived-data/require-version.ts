import type { RowKey, StoredRow } from '../../rows/row.js';
import { ConditionFailedError } from '../../table/errors.js';

/**
 * Throws `ConditionFailedError`, as the service would, unless the row has the given ETag; '*'
 * matches any.
 */
export function requireVersion(row: StoredRow, etag: string): void {
  if (etag === '*' || decoded(etag) === decoded(row.etag)) return;
  throw new ConditionFailedError(`${place(row)} has changed since it was read`, {
    status: 412,
    code: 'UpdateConditionNotSatisfied',
  });
}

function place({ partitionKey, rowKey }: RowKey): string {
  return `the entity ('${partitionKey}', '${rowKey}')`;
}

/** Headers and bodies encode the colons of an ETag differently. */
function decoded(etag: string): string {
  return etag.replaceAll(/%3a/gi, ':');
}
