import type { Endpoint } from '../pipeline/endpoint.js';
import type { Reply } from '../exchange/service.js';

/**
 * Whether a server can serve. `closing`: it ends. `away`: what it stands on, such as a database on
 * another machine, does not answer; it serves again as soon as that does, so a restart is of no
 * use. `moved`: its data are in another place by now. `failed`: the server is ill, and its log says
 * why.
 */
export type Health = 'ok' | 'closing' | 'away' | 'moved' | 'failed';

/** When a server whose database was away may be asked again. */
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
