import type { IncomingMessage } from 'node:http';

const loopback = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/i;

/**
 * Why a request is not from a local program; undefined when it is. Only a web page sends an origin,
 * and only DNS rebinding brings a host with another name.
 */
export function foreignness({ headers }: IncomingMessage): string | undefined {
  const { host = '', origin } = headers;
  if (!loopback.test(host)) {
    return 'The Host header must name 127.0.0.1, localhost or [::1]: only this machine may ask.';
  }
  const site = headers['sec-fetch-site'];
  const isPage = origin !== undefined || (site !== undefined && site !== 'none');
  return isPage ? 'Pages of a browser may not ask: the request has an Origin.' : undefined;
}
