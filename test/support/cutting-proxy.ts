import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { invariant } from '../../src/base/invariant.js';

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open to the target. */
  readonly open: number;
  /** Ends new connections at once. Those that are open go on. */
  refuse(): void;
  /** Ends all connections at once, on both sides. Bytes under way are lost. */
  cut(): void;
  /** Passes half of what arrives next at a connection, from either side, and ends it then. */
  halve(): void;
  /**
   * Passes nothing on any more, in both directions, on the connections there are, and notices the
   * end of none: a network that has parted.
   */
  stall(): void;
  /** Ends each connection on which a client sends these bytes, before they arrive. */
  cutAt(bytes: Buffer): void;
  /**
   * Passes nothing on any more, in both directions, on the connection on which a client next sends
   * these bytes, and does not pass these on either.
   */
  stallAt(bytes: Buffer): void;
  /** Passes everything on later; 0: at once. */
  delay(ms: number): void;
}

/** One direction of a connection. */
interface Stream {
  readonly from: Socket;
  readonly to: Socket;
  isStalled: boolean;
  isHalved: boolean;
}

/** A proxy for TCP that treats connections badly when it is told to. */
export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  const streams = new Set<Stream>();
  let delayMs = 0;
  let refuses = false;
  let poison: Buffer | undefined;
  let lastWords: Buffer | undefined;
  const pass = (from: Socket, to: Socket, isOfClient = false): void => {
    const stream: Stream = { from, to, isStalled: false, isHalved: false };
    streams.add(stream);
    let last = Promise.resolve();
    const later = (work: () => void): void => {
      if (delayMs === 0) {
        last = last.then(work);
        return;
      }
      const waited = new Promise((resolve) => setTimeout(resolve, delayMs));
      last = Promise.all([last, waited]).then(work);
    };
    from.on('data', (chunk: Buffer) => {
      if (stream.isStalled) return;
      if (isOfClient && poison !== undefined && chunk.includes(poison)) return end(stream);
      if (isOfClient && lastWords !== undefined && chunk.includes(lastWords)) {
        lastWords = undefined;
        for (const each of streams) each.isStalled ||= each.from === from || each.to === from;
        return;
      }
      if (!stream.isHalved) return later(() => to.write(chunk));
      stream.isStalled = true;
      later(() => to.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => end(stream)));
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      streams.delete(stream);
      if (stream.isStalled) return;
      later(() => to.destroy());
    });
  };
  const end = ({ from, to }: Stream): void => {
    from.destroy();
    to.destroy();
  };
  const server = createServer((near) => {
    if (refuses) {
      near.destroy();
      return;
    }
    const far = connect(target, '127.0.0.1');
    pass(near, far, true);
    pass(far, near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  invariant(typeof address === 'object' && address !== null, 'a server that listens has a port');
  const cut = (): void => {
    for (const stream of streams) end(stream);
  };
  return {
    port: address.port,
    get open() {
      return streams.size / 2;
    },
    refuse() {
      refuses = true;
    },
    cut,
    halve() {
      for (const stream of streams) stream.isHalved = true;
    },
    stall() {
      for (const stream of streams) {
        stream.isStalled = true;
        stream.from.pause();
      }
    },
    cutAt(bytes) {
      poison = bytes;
    },
    stallAt(bytes) {
      lastWords = bytes;
    },
    delay(ms) {
      delayMs = ms;
    },
    async [Symbol.asyncDispose]() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
