import type { WireResponse } from '../wire/kit/response.js';

const prefix = 'x-ms-continuation-';

/** The query options for the next page, each with a leading `&`; '' at the end. */
export function continuationOf(response: WireResponse): string {
  return response.headers
    .filter(([name]) => name.toLowerCase().startsWith(prefix))
    .map(([name, value]) => `&${name.slice(prefix.length)}=${encodeURIComponent(value)}`)
    .join('');
}

/** A continuation for a key, in the form of the service (table-service §6). */
export function continuationTo(key: string): string {
  const base64 = Buffer.from(key).toString('base64').replaceAll('=', '-');
  return `1!${base64.length}!${base64}`;
}
