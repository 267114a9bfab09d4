import { parseTimeout } from '../../wire/http/query-string.js';
import type { Exchange } from '../exchange/exchange.js';

/**
 * Seventh stage, its time limit: by when the storage work must be done. The `timeout` option, in
 * seconds on the wire, at most and by default `maxMs` (table-service §10.4).
 *
 * Limits are whole seconds and hardly ever reached. So no timer is set a request: the server looks
 * every `deadlineCheckMs` for exchanges whose deadline has passed.
 */
export function setDeadline(exchange: Exchange, nowMs: number, maxMs: number): void {
  // Browsers ask about a URL with all its options, whatever they are: those count when it is used.
  const hasOptions = exchange.queryText !== '' && exchange.method !== 'OPTIONS';
  const seconds = hasOptions ? parseTimeout(exchange.queryOptionsByLowerName) : undefined;
  const timeoutMs = seconds === undefined ? maxMs : Math.min(seconds * 1000, maxMs);
  exchange.deadlineMs = nowMs + timeoutMs;
}

export const deadlineCheckMs = 250;
