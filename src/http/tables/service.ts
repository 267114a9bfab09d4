import { unreachable } from '../../base/invariant.js';
import type { StorageError } from '../../wire/errors/storage-error.js';
import { renderError } from '../../wire/errors/render.js';
import { parseResourcePath, type Resource } from '../../wire/odata/resource.js';
import type { Exchange } from '../pipeline/exchange.js';
import type { HttpService, Reply, Route } from '../pipeline/service.js';
import { errorLevelOfExchange } from './format.js';
import { effectiveMethod } from './method.js';
import { ExchangeRequest, type TableBackend } from './request.js';
import { findRoute } from './route.js';
import { tableRoutes } from './routes.js';

/** The table service as the pipeline drives it. */
export function tableHttpService(backend: TableBackend): HttpService {
  return {
    name: 'table',
    route: (exchange) => routeOf(backend, exchange),
    renderError: errorReply,
  };
}

function routeOf(backend: TableBackend, exchange: Exchange): Route {
  const method = effectiveMethod(exchange.method, exchange.header('x-http-method'));
  const resource = parseResourcePath(exchange.resourcePath);
  exchange.resource = tableOf(resource);
  const request = new ExchangeRequest(backend, exchange, {
    method,
    resource,
    query: exchange.queryOptions,
  });
  const { name, operation } = findRoute(tableRoutes, request);
  return { name, operation, request };
}

function tableOf(resource: Resource): string | undefined {
  switch (resource.kind) {
    case 'entity':
    case 'entities':
      return resource.table;
    case 'table-entry':
      return resource.name;
    case 'service':
    case 'tables':
    case 'batch':
      return undefined;
    default:
      return unreachable(resource);
  }
}

function errorReply(error: StorageError, exchange: Exchange): Reply {
  const { requestId, timeMicros } = exchange;
  const level = errorLevelOfExchange(exchange);
  const { status, reason, headers, body } = renderError(error, { requestId, timeMicros, level });
  return { status, reason, headers: headers.flat(), body };
}
