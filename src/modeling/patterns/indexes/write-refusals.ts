import type { RowKey, StoredRow } from '../../rows/row.js';
import { ConditionFailedError, EntityExistsError } from '../../table/errors.js';

/** The errors of the service, for refusals after a read. */

function place({ partitionKey, rowKey }: RowKey): string {
  return `('${partitionKey}', '${rowKey}')`;
}

export function existsError(type: string, key: RowKey): EntityExistsError {
  return new EntityExistsError(`${type}: there is an entity ${place(key)} already`, {
    status: 409,
    code: 'EntityAlreadyExists',
  });
}

/** Throws `ConditionFailedError` unless the row has the given ETag; '*' matches any. */
export function requireVersion(type: string, row: StoredRow, etag: string): void {
  if (etag === '*' || decoded(etag) === decoded(row.etag)) return;
  throw new ConditionFailedError(
    `${type}: the entity ${place(row)} has changed since it was read`,
    {
      status: 412,
      code: 'UpdateConditionNotSatisfied',
    },
  );
}

/** Headers and bodies encode the colons of an ETag differently. */
function decoded(etag: string): string {
  return etag.replaceAll(/%3a/gi, ':');
}
