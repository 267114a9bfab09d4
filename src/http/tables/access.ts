import { StorageError } from '../../model/errors/storage-error.js';
import { contains, type EntityRange } from '../../model/edm/entity-range.js';
import { keysOf } from '../../services/tables/staged-write.js';
import type { WriteOperation } from '../../services/tables/types.js';
import { authorise } from '../pipeline/authorise.js';
import { tableOf } from './request-target.js';
import type { TableOperation } from './operation.js';
import type { TableRequest } from './request.js';

/** Judges an operation that a batch carries as if it came alone (table-service §8.3). */
export function authorisePart(operation: TableOperation, request: TableRequest): void {
  const { exchange, resource } = request;
  authorise(exchange.caller, operation.access, tableOf(resource));
}

/** The entities that the caller's signature is good for; undefined for all. */
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
 * Throws `ResourceNotFound` for a read outside of the range of the caller's signature: the answer
 * is the same whether there is such an entity or not.
 */
export function checkReadable(
  { partitionKey, rowKey }: { readonly partitionKey: string; readonly rowKey: string },
  request: TableRequest,
): void {
  const range = rangeOf(request);
  if (range === undefined || contains(range, partitionKey, rowKey)) return;
  throw new StorageError('ResourceNotFound');
}
