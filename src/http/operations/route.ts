import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import type { StorageError } from '../../model/errors/storage-error.js';
import type { QueryOptions } from '../../wire/http/query-string.js';
import type { AnyOperation } from '../exchange/service.js';

/** What routing looks at in a request, whatever the service. */
export interface RoutedRequest {
  readonly method: string;
  readonly resource: { readonly kind: string };
  readonly query: QueryOptions;
  readonly exchange: { readonly version: string };
}

/** One REST operation of a service and the requests that mean it. */
export interface ServiceRoute<R extends RoutedRequest, O extends AnyOperation = AnyOperation> {
  /** The operation's name in records and in docs/reference/compatibility.md. */
  readonly name: string;
  readonly methods: readonly string[];
  readonly resource: R['resource']['kind'] | 'any';
  readonly restype?: 'service';
  readonly comp?: string;
  /** The first protocol version that has the operation; absent: all have it. */
  readonly since?: string;
  /** What else a request must show; absent: nothing. Written as a method to fit any service. */
  when?(request: R): boolean;
  readonly operation: O;
}

type Target<R extends RoutedRequest> = Omit<ServiceRoute<R>, 'name' | 'operation'>;

/** `operation`, under `name`, for the requests that `target` describes. */
export function routeTo<R extends RoutedRequest, O extends AnyOperation>(
  name: string,
  target: Target<R>,
  operation: O,
): ServiceRoute<R, O> {
  return { name, ...target, operation };
}

/** The first route that fits a request; undefined when none does. */
export function findRoute<R extends RoutedRequest, O extends AnyOperation>(
  routes: readonly ServiceRoute<R, O>[],
  request: R,
): ServiceRoute<R, O> | undefined {
  const comp = request.query.get('comp');
  const restype = request.query.get('restype');
  for (const route of routes) {
    if (!route.methods.includes(request.method)) continue;
    if (route.resource !== 'any' && !isTarget(route, request, comp, restype)) continue;
    if (route.when === undefined || route.when(request)) return route;
  }
  return undefined;
}

/** Methods that what a request addresses has, apart from those that everything has. */
export function methodsOf<R extends RoutedRequest>(
  routes: readonly ServiceRoute<R>[],
  request: R,
): string[] {
  const comp = request.query.get('comp');
  const restype = request.query.get('restype');
  const fitting = routes.filter((route) => isTarget(route, request, comp, restype));
  return [...new Set(fitting.flatMap(({ methods }) => methods))];
}

function isTarget<R extends RoutedRequest>(
  route: ServiceRoute<R>,
  { resource, exchange }: R,
  comp: string | undefined,
  restype: string | undefined,
): boolean {
  if (route.resource !== resource.kind || route.comp !== comp) return false;
  return route.restype === restype && (route.since ?? '') <= exchange.version;
}

/** The error of a `comp` or `restype` that no operation of the addressed resource has. */
export function unknownSelector<R extends RoutedRequest>(
  routes: readonly ServiceRoute<R>[],
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
