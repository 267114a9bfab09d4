import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface CountingProxy extends AsyncDisposable {
  readonly origin: string;
  /** Bytes that clients sent so far, and that they were answered. */
  readonly sent: number;
  readonly answered: number;
}

/** Passes bytes on to a port of this machine and back, and counts them. */
export async function startCountingProxy(port: number): Promise<CountingProxy> {
  let [sent, answered] = [0, 0];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const onward = connect(port, '127.0.0.1');
    keep(client);
    keep(onward);
    client.on('data', ({ length }: Buffer) => (sent += length));
    onward.on('data', ({ length }: Buffer) => (answered += length));
    client.pipe(onward);
    onward.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get sent() {
      return sent;
    },
    get answered() {
      return answered;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
