import { StorageError } from '../../model/errors/storage-error.js';
import type { CorsRule } from '../../model/resources/service-properties.js';
import { publicAccess } from '../operations/access.js';
import { emptyReply } from '../operations/replies.js';
import { accountName, type ServiceBackend, type ServiceRequest } from '../operations/request.js';
import type { Exchange } from '../exchange/exchange.js';
import type { Operation, Route, Routed } from '../exchange/service.js';
import { decidingRule, headerCover } from './deciding-rule.js';

/** The question of a browser before it sends a request. */
interface Preflight {
  readonly origin: string;
  readonly method: string;
  /** As sent; undefined when no header needs permission. */
  readonly headers: string | undefined;
}

/**
 * `OPTIONS` on any path, existing or not, without authentication (queue-service §10.1,
 * table-service §11.2). Throws `InvalidHeaderValue` for a malformed preflight,
 * `CorsPreflightFailure` when no rule allows the request.
 */
export const preflight: Operation<ServiceRequest, Preflight, CorsRule> = {
  access: publicAccess,
  bodyBytesMax: 0,

  parse({ exchange }) {
    return {
      origin: required(exchange, 'Origin'),
      method: required(exchange, 'Access-Control-Request-Method'),
      headers: exchange.header('access-control-request-headers'),
    };
  },

  async run(asked, { backend, account, exchange }) {
    return allowingRule(await backend.properties.corsRules(exchange.service, account), asked);
  },

  render({ maxAgeSeconds }, { origin, method, headers }) {
    const reply = emptyReply(200);
    reply.headers.push('Access-Control-Allow-Origin', origin);
    reply.headers.push('Access-Control-Allow-Methods', method);
    if (headers !== undefined) reply.headers.push('Access-Control-Allow-Headers', headers);
    reply.headers.push('Access-Control-Max-Age', String(maxAgeSeconds));
    reply.headers.push('Access-Control-Allow-Credentials', 'true');
    return reply;
  },
};

/** Routes a preflight, whatever its path, query string and credential are. */
export function preflightOf(
  { name, operation }: Route,
  backend: ServiceBackend,
  exchange: Exchange,
): Routed {
  const request: ServiceRequest = { backend, exchange, account: accountName(exchange) };
  return { name, operation, request };
}

function required(exchange: Exchange, name: string): string {
  const value = exchange.header(name.toLowerCase());
  if (value !== undefined && value !== '') return value;
  throw new StorageError('InvalidHeaderValue', {
    message: 'A required CORS header is not present.',
    details: [
      ['HeaderName', name],
      ['HeaderValue', ''],
    ],
  });
}

function allowingRule(rules: readonly CorsRule[], asked: Preflight): CorsRule {
  if (rules.length === 0) {
    throw refused('The service has no rules for this account: set some with its properties.');
  }
  const rule = decidingRule(rules, asked);
  if (rule === undefined) throw refused('No rule has both the origin and the method.');
  const names = (asked.headers ?? '').split(',').map((name) => name.trim());
  const isAllowed = headerCover(rule.allowedHeaders);
  if (names.every((name) => name === '' || isAllowed(name))) return rule;
  throw refused('The first rule with the origin and the method does not allow all the headers.');
}

function refused(reason: string): StorageError {
  return new StorageError('CorsPreflightFailure', { details: [['Reason', reason]] });
}
