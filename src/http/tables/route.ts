import { StorageError } from '../../model/errors/storage-error.js';
import {
  unknownSelector,
  type RoutedRequest,
  type ServiceRoute,
  type ServiceRouter,
} from '../operations/route.js';
import type { TableOperation } from './operation.js';
import type { TableRequest } from './request.js';

export type RoutedTableRequest = Pick<TableRequest, 'resource' | 'header'> & RoutedRequest;

export type TableRoute<O extends TableOperation = TableOperation> = ServiceRoute<
  RoutedTableRequest,
  O
>;

/**
 * The route of a request. Throws `InvalidQueryParameterValue` for an unknown `comp` or `restype`,
 * `MethodNotAllowed` when only the method does not match.
 */
export function tableRouteOf<O extends TableOperation>(
  router: ServiceRouter<RoutedTableRequest, O>,
  request: RoutedTableRequest,
): TableRoute<O> {
  const route = router.find(request);
  if (route !== undefined) return route;
  const isBare = !request.query.has('comp') && !request.query.has('restype');
  const allowed = router.methodsOf(request);
  if (isBare || allowed.length > 0) throw new StorageError('MethodNotAllowed', { allowed });
  throw unknownSelector(router, request);
}

export function hasIfMatch(request: RoutedTableRequest): boolean {
  return request.header('if-match') !== undefined;
}
