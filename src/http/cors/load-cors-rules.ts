import type { ServiceName } from '../../model/services/services.js';
import type { CorsRuleSource } from '../exchange/cors-rule-source.js';
import type { Exchange } from '../exchange/exchange.js';
import type { ServiceBackend } from '../operations/request.js';

/** A browser's preflight; services use the method for nothing else. */
export function isPreflight({ method }: Exchange): boolean {
  return method === 'OPTIONS';
}

/** Caches between the server and a browser store the answers to these methods only. */
export function isCacheable(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

export function corsRulesOf(service: ServiceName, backend: ServiceBackend): CorsRuleSource {
  return {
    read: (account) => backend.properties.corsRules(service, account),
    recent: (account, nowMs) => backend.properties.recentCorsRules(service, account, nowMs),
  };
}

/**
 * Loads the CORS rules for an answer. Every answer needs them, refusals included: a page cannot
 * read an answer without CORS headers. The account must be known.
 *
 * For a request with an origin the rules are read from the store. A request without one comes from
 * no page; its answer may reach a page through a cache, for which the rules in memory are enough.
 *
 * @returns undefined: there is nothing to wait for
 */
export function loadCorsRules(
  exchange: Exchange,
  rules: CorsRuleSource,
): Promise<void> | undefined {
  const { account, method, startMs } = exchange;
  if (account === undefined) return undefined;
  if (exchange.header('origin') !== undefined) return readRules(exchange, account.name, rules);
  if (isCacheable(method)) exchange.corsRules = rules.recent(account.name, startMs);
  return undefined;
}

async function readRules(
  exchange: Exchange,
  account: string,
  rules: CorsRuleSource,
): Promise<void> {
  exchange.corsRules = await rules.read(account);
}
