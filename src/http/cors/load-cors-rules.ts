import type { ServiceName } from '../../model/services/services.js';
import type { CorsRuleSource } from '../exchange/cors-rule-source.js';
import type { Exchange } from '../exchange/exchange.js';
import type { ServiceBackend } from '../operations/request.js';

/** A browser asks whether it may send a request; no service has another use for the method. */
export function isPreflight({ method }: Exchange): boolean {
  return method === 'OPTIONS';
}

/** Others are kept by no cache between the server and a browser. */
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
 * Finds out by which rules the answer to a request is shown to pages of other origins. Every one
 * needs them, refusals included: a page cannot read what does not say that it may. The account must
 * be known.
 *
 * A request that names its origin is judged by what the store has. One without is of no page; its
 * answer may be kept by a cache and be given to a page later, which is worth no read of the store.
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
