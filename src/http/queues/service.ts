import { renderStorageXmlError } from '../../wire/errors/storage-xml.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { corsRulesOf } from '../cors/load-cors-rules.js';
import { preflightOf } from '../cors/preflight.js';
import { unknownSelector } from '../operations/route.js';
import type { Exchange } from '../exchange/exchange.js';
import type { HttpService, Reply } from '../exchange/service.js';
import { QueueRequest, type QueueBackend } from './request.js';
import { parseQueuePath } from './resource.js';
import { queuePreflight, queueRouter, type QueueRoute, type RoutedQueueRequest } from './routes.js';

/** The queue service as the pipeline uses it. */
export function queueHttpService(backend: QueueBackend): HttpService {
  return {
    name: 'queue',
    signatures: {
      containerOf: ({ resourcePath }) => queueOfPath(resourcePath),
      storedPolicies: (account, queue) => backend.queues.storedPolicies(account, queue),
    },
    verifiesContentMd5: true,
    corsRules: corsRulesOf('queue', backend),
    preflight: (exchange) => preflightOf(queuePreflight, backend, exchange),
    requestOf: (exchange) => new QueueRequest(backend, exchange),
    route: (request: QueueRequest) => queueRouteOf(request),
    renderError: (error, exchange) => errorReply(error, exchange),
  };
}

/** Undefined also for an invalid path: routing reports the error. */
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
 * The route of a request. Throws `InvalidQueryParameterValue` for an unknown `comp` or `restype`,
 * `UnsupportedHttpVerb` when only the method does not match.
 */
export function queueRouteOf(request: RoutedQueueRequest): QueueRoute {
  const route = queueRouter.find(request);
  if (route !== undefined) return route;
  const allowed = queueRouter.methodsOf(request);
  if (allowed.length > 0) throw new StorageError('UnsupportedHttpVerb', { allowed });
  throw unknownSelector(queueRouter, request);
}

function errorReply(error: StorageError, exchange: Exchange): Reply {
  const { status, reason, headers, body } = renderStorageXmlError(error, exchange);
  return { status, reason, headers: headers.flat(), body };
}
