import type { CorsRule } from '../../model/resources/service-properties.js';
import type { Exchange } from '../pipeline/exchange.js';
import type { ServiceBackend } from '../operations/request.js';
import { isCacheable } from './answer-headers.js';

/** The rules about origins that accounts have set for one service. */
export interface OriginRules {
  /** What the store has. */
  read(account: string): Promise<readonly CorsRule[]>;
  /** What this process knows without asking the store; `nowMs` is on the monotonic clock. */
  recent(account: string, nowMs: number): readonly CorsRule[];
}

/** A browser asks whether it may send a request; no service has another use for the method. */
export function isPreflight({ method }: Exchange): boolean {
  return method === 'OPTIONS';
}

export function originRulesOf(service: string, backend: ServiceBackend): OriginRules {
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
export function learnOriginRules(
  exchange: Exchange,
  rules: OriginRules,
): Promise<void> | undefined {
  const { account, method, startMs } = exchange;
  if (account === undefined) return undefined;
  if (exchange.header('origin') !== undefined) return readRules(exchange, account.name, rules);
  if (isCacheable(method)) exchange.originRules = rules.recent(account.name, startMs);
  return undefined;
}

async function readRules(exchange: Exchange, account: string, rules: OriginRules): Promise<void> {
  exchange.originRules = await rules.read(account);
}
