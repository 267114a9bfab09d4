import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import { Router, type Routable } from '../exchange/router.js';
import type { AnyOperation } from '../exchange/service.js';

/** The parts of a request that routing uses, whatever the service. */
export interface RoutedRequest {
  readonly method: string;
  readonly resource: { readonly kind: string };
  readonly query: QueryOptions;
  readonly exchange: { readonly version: string };
}

/** One REST operation of a service and the requests that it matches. */
export interface ServiceRoute<
  R extends RoutedRequest,
  O extends AnyOperation = AnyOperation,
> extends Routable<R> {
  /** The operation's name in records and in docs/reference/compatibility.md. */
  readonly name: string;
  /** Absent: the operation applies everywhere. */
  readonly resource?: R['resource']['kind'];
  readonly restype?: 'service' | 'container';
  readonly comp?: string;
  /** The first protocol version with the operation; absent: all versions. */
  readonly since?: string;
  readonly operation: O;
}

type Target<R extends RoutedRequest> = Omit<ServiceRoute<R>, 'name' | 'operation'>;

/** A route to `operation`, under `name`, for requests that match `target`. */
export function routeTo<R extends RoutedRequest, O extends AnyOperation>(
  name: string,
  target: Target<R>,
  operation: O,
): ServiceRoute<R, O> {
  return { name, ...target, operation };
}

export type ServiceRouter<R extends RoutedRequest, O extends AnyOperation = AnyOperation> = Router<
  R,
  ServiceRoute<R, O>
>;

export function serviceRouter<R extends RoutedRequest, O extends AnyOperation>(
  routes: readonly ServiceRoute<R, O>[],
): ServiceRouter<R, O> {
  return new Router<R, ServiceRoute<R, O>>(routes, isAddressed);
}

function isAddressed<R extends RoutedRequest>(
  { resource, restype, comp, since }: ServiceRoute<R>,
  request: R,
): boolean {
  return (
    resource === request.resource.kind &&
    comp === request.query.get('comp') &&
    restype === request.query.get('restype') &&
    (since === undefined || since <= request.exchange.version)
  );
}

/**
 * The route of a request. Throws `InvalidQueryParameterValue` for an unknown `comp` or `restype`,
 * `UnsupportedHttpVerb` when only the method does not match.
 */
export function routeOf<R extends RoutedRequest, O extends AnyOperation>(
  router: ServiceRouter<R, O>,
  request: R,
): ServiceRoute<R, O> {
  const route = router.find(request);
  if (route !== undefined) return route;
  const allowed = router.methodsOf(request);
  if (allowed.length > 0) throw new StorageError('UnsupportedHttpVerb', { allowed });
  throw unknownSelector(router, request);
}

/** The error of a `comp` or `restype` that no operation of the addressed resource has. */
export function unknownSelector<R extends RoutedRequest>(
  { routes }: { readonly routes: readonly ServiceRoute<R>[] },
  { query, resource }: R,
): StorageError {
  const restype = query.get('restype');
  const isKnown = routes.some(
    (route) => route.resource === resource.kind && route.restype === restype,
  );
  const name = restype !== undefined && !isKnown ? 'restype' : 'comp';
  const reason = 'The addressed resource has no operation with this comp and restype.';
  return invalidQueryParameter(name, query.get(name) ?? '', reason);
}
