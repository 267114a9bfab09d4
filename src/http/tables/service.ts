import type { StorageError } from '../../model/errors/storage-error.js';
import { renderError } from '../../wire/errors/render.js';
import { corsRulesOf } from '../cors/load-cors-rules.js';
import { preflightRoute } from '../cors/preflight.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Leniency } from '../pipeline/leniency.js';
import type { HttpService, Reply, Route } from '../exchange/service.js';
import { tableOf } from './access.js';
import { errorLevelOfExchange } from './format.js';
import { effectiveMethod } from './method.js';
import { preferenceOf, type Preference } from './preference.js';
import { parseRequestPath } from './request-path.js';
import { ExchangeRequest, type TableBackend } from './request.js';
import { tableRouteOf } from './route.js';
import { tablePreflight, tableRoutes } from './routes.js';
import { grantedUnder } from './write-entity.js';

/** The table service as the pipeline drives it. */
export function tableHttpService(backend: TableBackend): HttpService {
  return {
    name: 'table',
    signing: 'table',
    signatures: {
      service: 'table',
      containerOf: () => undefined,
      storedPolicies: (account, table) => backend.tables.storedPolicies(account, table),
    },
    verifiesContentMd5: false,
    corsRules: corsRulesOf('table', backend),
    preflight: (exchange) => preflightRoute(tablePreflight, backend, exchange),
    route: (exchange) => routeOf(backend, exchange),
    renderError: (error, exchange) => errorReply(error, exchange, backend.leniency),
  };
}

function routeOf(backend: TableBackend, exchange: Exchange): Route {
  const method = effectiveMethod(exchange.method, exchange.header('x-http-method'));
  const resource = parseRequestPath(exchange.resourcePath, method);
  const container = tableOf(resource);
  exchange.resource = container;
  const request = new ExchangeRequest(backend, exchange, {
    method,
    resource,
    query: exchange.queryOptions,
  });
  const { name, operation } = tableRouteOf(tableRoutes, request);
  const partitionKey = resource.kind === 'entity' ? resource.partitionKey : undefined;
  return {
    name,
    operation: grantedUnder(backend.leniency, operation),
    request,
    container,
    partitionKey,
  };
}

function errorReply(error: StorageError, exchange: Exchange, leniency: Leniency): Reply {
  const { requestId, timeMicros } = exchange;
  const level = errorLevelOfExchange(exchange, leniency);
  const { status, reason, headers, body } = renderError(error, { requestId, timeMicros, level });
  const flat = headers.flat();
  const preference = confirmedPreference(error, exchange);
  if (preference !== undefined) flat.push('Preference-Applied', preference);
  return { status, reason, headers: flat, body };
}

/**
 * A failed creation confirms what it was asked, once storage had to do with it (table-service
 * §3.1).
 */
function confirmedPreference(error: StorageError, exchange: Exchange): Preference | undefined {
  if (exchange.method !== 'POST' || !exchange.running) return undefined;
  if (!error.noCache && exchange.operation !== 'CreateTable') return undefined;
  return preferenceOf(exchange.header('prefer'));
}
