import { renderStorageXmlError } from '../../wire/errors/storage-xml.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { corsRulesOf } from '../cors/load-cors-rules.js';
import { preflightRoute } from '../cors/preflight.js';
import { findRoute, methodsOf, unknownSelector } from '../operations/route.js';
import type { Exchange } from '../exchange/exchange.js';
import type { HttpService, Reply, Route } from '../exchange/service.js';
import { QueueRequest, type QueueBackend } from './request.js';
import { parseQueuePath } from './resource.js';
import { queuePreflight, queueRoutes, type QueueRoute, type RoutedQueueRequest } from './routes.js';

/** The queue service as the pipeline drives it. */
export function queueHttpService(backend: QueueBackend): HttpService {
  return {
    name: 'queue',
    signing: 'blob-queue',
    signatures: {
      service: 'queue',
      containerOf: ({ resourcePath }) => queueOfPath(resourcePath),
      storedPolicies: (account, queue) => backend.queues.storedPolicies(account, queue),
    },
    verifiesContentMd5: true,
    corsRules: corsRulesOf('queue', backend),
    preflight: (exchange) => preflightRoute(queuePreflight, backend, exchange),
    route: (exchange) => routeOf(backend, exchange),
    renderError: (error, exchange) => errorReply(error, exchange),
  };
}

function routeOf(backend: QueueBackend, exchange: Exchange): Route {
  const request = new QueueRequest(backend, exchange);
  const { resource } = request;
  const container = resource.kind === 'service' ? undefined : resource.queue;
  exchange.resource = container;
  const { name, operation } = queueRouteOf(request);
  return { name, operation, request, container };
}

/** Undefined also for a path that names nothing: routing says what is wrong with it. */
function queueOfPath(path: string): string | undefined {
  try {
    const resource = parseQueuePath(path);
    return resource.kind === 'service' ? undefined : resource.queue;
  } catch (error) {
    if (error instanceof StorageError) return undefined;
    throw error;
  }
}

/**
 * The route of a request. Throws `InvalidQueryParameterValue` for a `comp` or `restype` that the
 * resource does not have, `UnsupportedHttpVerb` when only the method is wrong.
 */
export function queueRouteOf(request: RoutedQueueRequest): QueueRoute {
  const route = findRoute(queueRoutes, request);
  if (route !== undefined) return route;
  const allowed = methodsOf(queueRoutes, request);
  if (allowed.length > 0) throw new StorageError('UnsupportedHttpVerb', { allowed });
  throw unknownSelector(queueRoutes, request);
}

function errorReply(error: StorageError, exchange: Exchange): Reply {
  const { status, reason, headers, body } = renderStorageXmlError(error, exchange);
  return { status, reason, headers: headers.flat(), body };
}
