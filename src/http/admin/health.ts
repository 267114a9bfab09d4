import type { Endpoint } from '../pipeline/endpoint.js';
import type { Reply } from '../exchange/service.js';

/**
 * Whether a server can serve. `closing`: it is stopping. `away`: a service that it depends on, such
 * as a database on another machine, does not answer; the server continues as soon as that service
 * answers, so a restart does not help. `moved`: its data are in another place by now. `failed`: the
 * server cannot continue, and its log says why.
 */
export type Health = 'ok' | 'closing' | 'away' | 'moved' | 'failed';

/** The seconds after which a client may ask a server again whose database does not answer. */
const retryAfterSeconds = '1';

/**
 * `GET /healthz`: 200 while the server can serve, otherwise 503 with the reason. Not authenticated.
 * Ignores signed requests: a table may have this name.
 */
export function healthEndpoint(check: () => Promise<Health>): Endpoint {
  return {
    name: 'Health',
    methods: ['GET', 'HEAD'],
    path: '/healthz',
    when: (exchange) => exchange.header('authorization') === undefined,
    async answer() {
      return reply(await check());
    },
  };
}

function reply(health: Health): Reply {
  const headers = ['Content-Type', 'application/json', 'Cache-Control', 'no-cache'];
  if (health === 'ok') return { status: 200, headers, body: bodyOf({ status: 'ok' }) };
  if (health === 'away') headers.push('Retry-After', retryAfterSeconds);
  return { status: 503, headers, body: bodyOf({ status: 'unavailable', reason: health }) };
}

function bodyOf(value: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(JSON.stringify(value));
}
