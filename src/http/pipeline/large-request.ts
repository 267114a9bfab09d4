import type { Exchange } from '../exchange/exchange.js';

/** From here on a query string or header fields may take milliseconds to read and to work with. */
const largeHeadCharacters = 4 * 1024;
const longHeadCharacters = 16 * 1024;
const largeBodyBytes = 16 * 1024;
const longBodyBytes = 256 * 1024;

/**
 * Whether one piece of the work for a request may take milliseconds. Each such piece gets a turn of
 * the event loop of its own, so that those of many clients never add up in one.
 */
export function isLarge(exchange: Exchange): boolean {
  return exchange.body.length >= largeBodyBytes || exchange.headCharacters >= largeHeadCharacters;
}

/** Whether its query string and header fields take much memory once they are read. */
export function hasLongHead(exchange: Exchange): boolean {
  return exchange.headCharacters >= longHeadCharacters;
}

/** Whether what its body is read into takes much memory: text, values, what is stored of them. */
export function hasLongBody({ body }: Exchange): boolean {
  return body.length >= longBodyBytes;
}
