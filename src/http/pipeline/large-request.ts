import type { Exchange } from '../exchange/exchange.js';

/** From this size on, parsing a query string or header fields may take milliseconds. */
const largeHeadCharacters = 4 * 1024;
const longHeadCharacters = 16 * 1024;
const largeBodyBytes = 16 * 1024;
const longBodyBytes = 256 * 1024;

/**
 * True when one stage of a request may take milliseconds. Each such stage runs in its own turn of
 * the event loop, so that those of many clients do not add up in one.
 */
export function isLarge(exchange: Exchange): boolean {
  return exchange.body.length >= largeBodyBytes || exchange.headCharacters >= largeHeadCharacters;
}

/** True when the parsed query string and header fields take much memory. */
export function hasLongHead(exchange: Exchange): boolean {
  return exchange.headCharacters >= longHeadCharacters;
}

/** True when the parsed body takes much memory: text, values, stored form. */
export function hasLongBody({ body }: Exchange): boolean {
  return body.length >= longBodyBytes;
}
