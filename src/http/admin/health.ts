import type { Endpoint } from '../pipeline/endpoint.js';
import type { Reply } from '../exchange/service.js';

/**
 * `GET /healthz`: 200 while the server can serve, 503 while it closes or when its store has failed.
 * Not authenticated. Ignores signed requests: a table may have this name.
 */
export function healthEndpoint(check: () => Promise<boolean>): Endpoint {
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

function reply(healthy: boolean): Reply {
  return {
    status: healthy ? 200 : 503,
    headers: ['Content-Type', 'application/json', 'Cache-Control', 'no-cache'],
    body: Buffer.from(JSON.stringify({ status: healthy ? 'ok' : 'unavailable' })),
  };
}
