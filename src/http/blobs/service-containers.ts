import { operationClass } from '../../model/analytics/operation-name.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { isOfService } from '../../services/blobs/container-name.js';
import type { BlobRoute } from './blob-route.js';
import type { BlobRequest } from './request.js';

/**
 * The route of a request. A request that would write into a container of the service itself is
 * refused; in `$logs`, the owner may only read and delete blobs (blob-service §5.1). The caller is
 * authorised first.
 */
export function withoutServiceWrites(
  route: BlobRoute,
  { container, method }: Pick<BlobRequest, 'container' | 'method'>,
): BlobRoute {
  if (container === undefined || !isOfService(container)) return route;
  if (operationClass(route.name, method) !== 'write') return route;
  return { ...route, operation: { ...route.operation, parse: refuse } };
}

function refuse(): never {
  throw new StorageError('AuthorizationFailure', {
    details: [['AuthenticationErrorDetail', 'The service alone writes into this container.']],
  });
}
