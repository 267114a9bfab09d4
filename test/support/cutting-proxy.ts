import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { invariant } from '../../src/base/invariant.js';

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** Ends all connections at once, on both sides. Bytes under way are lost. */
  cut(): void;
  /** Passes nothing on any more, in both directions, until it is cut. */
  stall(): void;
}

/** A proxy for TCP that breaks connections when it is told to. */
export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    return socket;
  };
  const server = createServer((near) => {
    const far = track(connect(target, '127.0.0.1'));
    track(near);
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  invariant(typeof address === 'object' && address !== null, 'a server that listens has a port');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    cut,
    stall() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.pause();
      }
    },
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
