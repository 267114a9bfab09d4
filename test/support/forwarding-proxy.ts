import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface ForwardingProxy extends AsyncDisposable {
  readonly origin: string;
  /** The number of requests so far. */
  readonly count: number;
}

/** What happens with a request: it is passed on, answered here, or its connection is closed. */
export type Interceptor = (
  request: IncomingMessage,
  response: ServerResponse,
  count: number,
) => Promise<'pass' | 'done'> | 'pass' | 'done';

/**
 * Loses the answers to some of the requests that are meant, numbered from 1: the service has acted.
 */
export function losing(
  isMeant: (request: IncomingMessage) => boolean,
  lost: readonly number[],
): Interceptor {
  let count = 0;
  return (request, response) => {
    if (!isMeant(request) || !lost.includes(++count)) return 'pass';
    response.on('error', () => undefined);
    response.writeHead = () => response.destroy();
    return 'pass';
  };
}

/**
 * A proxy in front of a server, for tests of how clients handle bad networks and other servers.
 * `headersDropped` are response headers that it removes.
 */
export async function startProxy(
  target: string,
  intercept: Interceptor,
  headersDropped: readonly string[] = [],
): Promise<ForwardingProxy> {
  let count = 0;
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, url, headers } = incoming;
    const { hostname, port } = new URL(target);
    const onward = request({ hostname, port, method, path: url, headers }, (answer) => {
      const kept = { ...answer.headers };
      for (const name of headersDropped) delete kept[name];
      outgoing.writeHead(answer.statusCode ?? 500, kept);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  };
  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    count++;
    if ((await intercept(incoming, outgoing, count)) === 'pass') forward(incoming, outgoing);
  };
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get count() {
      return count;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
