import { StorageError } from '../../wire/errors/storage-error.js';
import type { Resource } from '../../wire/odata/resource.js';
import { notYet, type TableOperation } from './operation.js';
import type { TableRequest } from './request.js';

/** One REST operation and the requests that mean it. */
export interface TableRoute<O extends TableOperation = TableOperation> {
  /** The operation's name in records and in docs/reference/operations.md. */
  readonly name: string;
  readonly methods: readonly string[];
  readonly resource: Resource['kind'] | 'any';
  readonly restype?: 'service';
  readonly comp?: 'acl' | 'properties' | 'stats';
  /** Whether `If-Match` has to be there, or must not; absent: it does not decide. */
  readonly ifMatch?: boolean;
  readonly state: 'supported' | 'not yet';
  readonly operation: O;
}

export function supported<O extends TableOperation>(
  name: string,
  request: Pick<TableRoute, 'methods' | 'resource' | 'ifMatch'>,
  operation: O,
): TableRoute<O> {
  return { name, ...request, state: 'supported', operation };
}

/** An operation of the protocol that answers 501 until it is built. */
export function planned(
  name: string,
  request: Pick<TableRoute, 'methods' | 'resource' | 'restype' | 'comp'>,
  access: TableOperation['access'],
): TableRoute {
  return { name, ...request, state: 'not yet', operation: notYet(access) };
}

type Wanted = Pick<TableRequest, 'method' | 'resource' | 'query' | 'header'>;

/**
 * The first route that fits a request. Throws `InvalidQueryParameterValue` for a `comp` or `restype`
 * that the resource does not have, `MethodNotAllowed` when only the method is wrong.
 */
export function findRoute<O extends TableOperation>(
  routes: readonly TableRoute<O>[],
  request: Wanted,
): TableRoute<O> {
  const comp = request.query.get('comp');
  const restype = request.query.get('restype');
  let fitsButMethod = comp === undefined && restype === undefined;
  for (const route of routes) {
    const fitsQuery = route.comp === comp && route.restype === restype;
    if (route.resource !== 'any' && (route.resource !== request.resource.kind || !fitsQuery)) {
      continue;
    }
    if (fitsMethod(route, request)) return route;
    fitsButMethod ||= route.resource !== 'any';
  }
  throw new StorageError(fitsButMethod ? 'MethodNotAllowed' : 'InvalidQueryParameterValue');
}

function fitsMethod({ methods, ifMatch }: TableRoute, request: Wanted): boolean {
  if (!methods.includes(request.method)) return false;
  return ifMatch === undefined || ifMatch === (request.header('if-match') !== undefined);
}
