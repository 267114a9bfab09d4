import { StorageError } from '../../model/errors/storage-error.js';
import { contains, type EntityRange } from '../../model/edm/entity-range.js';
import { keysOf } from '../../services/tables/staged-write.js';
import type { WriteOperation } from '../../services/tables/types.js';
import { authorise } from '../pipeline/authorise.js';
import { tableOf } from './request-target.js';
import type { TableOperation } from './operation.js';
import type { TableRequest } from './request.js';

/** Authorises an operation of a batch as if it were a request of its own (table-service §8.3). */
export function authorisePart(operation: TableOperation, request: TableRequest): void {
  const { exchange, resource } = request;
  authorise(exchange.caller, operation.access, tableOf(resource));
}

/** The key range of the caller's signature; undefined: all keys. */
export function rangeOf({ exchange: { caller } }: TableRequest): EntityRange | undefined {
  return caller.kind === 'container-sas' ? caller.range : undefined;
}

/** Throws `AuthorizationFailure` for a write outside of the range of the caller's signature. */
export function checkWritable(operation: WriteOperation, request: TableRequest): void {
  const range = rangeOf(request);
  if (range === undefined) return;
  const { partitionKey, rowKey } = keysOf(operation);
  if (contains(range, partitionKey, rowKey)) return;
  throw new StorageError('AuthorizationFailure');
}

/**
 * Throws `ResourceNotFound` for a read outside of the range of the caller's signature, whether or
 * not the entity exists.
 */
export function checkReadable(
  { partitionKey, rowKey }: { readonly partitionKey: string; readonly rowKey: string },
  request: TableRequest,
): void {
  const range = rangeOf(request);
  if (range === undefined || contains(range, partitionKey, rowKey)) return;
  throw new StorageError('ResourceNotFound');
}
