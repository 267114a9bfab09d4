import type { StorageError } from '../../model/errors/storage-error.js';
import { renderError } from '../../wire/errors/render.js';
import { corsRulesOf } from '../cors/load-cors-rules.js';
import { preflightOf } from '../cors/preflight.js';
import type { Exchange } from '../exchange/exchange.js';
import type { RequestRules } from '../operations/request-rules.js';
import type { HttpService, Reply, Route } from '../exchange/service.js';
import { errorLevelOfExchange, preferenceOf, type Preference } from './format.js';
import { ExchangeRequest, type TableBackend } from './request.js';
import { tableRouteOf } from './route.js';
import { tablePreflight, tableRouter } from './routes.js';
import { grantedUnder } from './write-entity.js';

/** The table service as the pipeline uses it. */
export function tableHttpService(backend: TableBackend): HttpService {
  return {
    name: 'table',
    signatures: {
      addressOf: () => undefined,
      storedPolicies: (account, table) => backend.tables.storedPolicies(account, table),
    },
    verifiesChecksums: false,
    corsRules: corsRulesOf('table', backend),
    preflight: (exchange) => preflightOf(tablePreflight, backend, exchange),
    requestOf: (exchange) => new ExchangeRequest(backend, exchange),
    route: (request: ExchangeRequest) => routeOf(request),
    renderError: (error, exchange) => errorReply(error, exchange, backend.rules),
  };
}

function routeOf(request: ExchangeRequest): Route {
  const { name, operation } = tableRouteOf(tableRouter, request);
  return { name, operation: grantedUnder(request.backend.rules, operation) };
}

function errorReply(error: StorageError, exchange: Exchange, rules: RequestRules): Reply {
  const { requestId, timeMicros } = exchange;
  const level = errorLevelOfExchange(exchange, rules);
  const { status, reason, headers, body } = renderError(error, { requestId, timeMicros, level });
  const flat = headers.flat();
  const preference = confirmedPreference(error, exchange);
  if (preference !== undefined) flat.push('Preference-Applied', preference);
  return { status, reason, headers: flat, body };
}

/** A failed creation confirms its preference once storage was involved (table-service §3.1). */
function confirmedPreference(error: StorageError, exchange: Exchange): Preference | undefined {
  if (exchange.method !== 'POST' || !exchange.running) return undefined;
  if (!error.noCache && exchange.operation !== 'CreateTable') return undefined;
  return preferenceOf(exchange.header('prefer'));
}
