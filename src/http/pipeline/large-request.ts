import type { Exchange } from './exchange.js';

/** From here on a query string or header fields may take milliseconds to read and to work with. */
const largeHeadCharacters = 4 * 1024;
const largeBodyBytes = 16 * 1024;

/**
 * Whether one piece of the work for a request may take milliseconds. Each such piece gets a turn of
 * the event loop of its own, so that those of many clients never add up in one.
 */
export function isLarge(exchange: Pick<Exchange, 'request' | 'rawHeaders' | 'body'>): boolean {
  if (exchange.body.length >= largeBodyBytes) return true;
  let characters = exchange.request.url?.length ?? 0;
  for (const text of exchange.rawHeaders) characters += text.length;
  return characters >= largeHeadCharacters;
}
