import { parseTimeout } from '../../wire/http/query-string.js';
import type { Exchange } from '../exchange/exchange.js';

/**
 * Seventh stage, its time limit: the deadline of the storage work. Taken from the `timeout` option,
 * in seconds, at most and by default `maxMs` (table-service §10.4).
 *
 * Limits are whole seconds and rarely reached. So there are no timers per request: the server looks
 * every `deadlineCheckMs` for exchanges whose deadline has passed.
 */
export function setDeadline(exchange: Exchange, nowMs: number, maxMs: number): void {
  // A preflight carries the options of the request to come, which do not apply to it.
  const hasOptions = exchange.queryText !== '' && exchange.method !== 'OPTIONS';
  const seconds = hasOptions
    ? parseTimeout(exchange.queryOptionsByLowerName, maxMs / 1000)
    : undefined;
  exchange.deadlineMs = nowMs + (seconds === undefined ? maxMs : seconds * 1000);
}

export const deadlineCheckMs = 250;
