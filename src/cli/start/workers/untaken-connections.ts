import type { Worker } from 'node:cluster';

/** The methods of node's socket handles. */
interface Handle {
  close(): void;
}

/**
 * Closes connections that a worker was handed but had not accepted when it exited, so that their
 * clients can reconnect. `node:cluster` leaves them open for ever.
 *
 * It hands a worker one connection of each listening socket at a time and closes its own copy when
 * the worker has accepted it; closing that again does nothing. So only the latest handle of each
 * socket can be open. Other messages pass through.
 *
 * Returns the function that stops handing out connections. Once that was called for every worker,
 * the listening sockets are closed; each worker still accepts the connections that it was handed
 * before later messages.
 */
export function closeUntakenConnections(worker: Worker): () => void {
  const child = worker.process;
  const send = child.send.bind(child) as (...parts: unknown[]) => boolean;
  const latest = new Map<string, Handle>();
  const sockets = new Set<string>();
  Object.assign(child, {
    send(...parts: unknown[]): boolean {
      const [message, handle] = parts;
      const socket = listeningSocketOf(message);
      if (socket !== undefined) sockets.add(socket);
      if (socket !== undefined && isHandle(handle)) latest.set(socket, handle);
      return send(...parts);
    },
  });
  worker.once('exit', () => {
    for (const handle of latest.values()) handle.close();
  });
  return () => {
    // Acts as if the worker had closed them, so that the ports are released at once.
    for (const key of sockets)
      child.emit('internalMessage', { cmd: clusterCommand, act: 'close', key });
  };
}

/** The mark of `node:cluster`'s own messages. */
const clusterCommand = 'NODE_CLUSTER';

/** The listening socket that a message of `node:cluster` refers to; undefined for others. */
function listeningSocketOf(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const isOfCluster = 'cmd' in message && message.cmd === clusterCommand;
  return isOfCluster && 'key' in message ? String(message.key) : undefined;
}

function isHandle(value: unknown): value is Handle {
  return (
    typeof value === 'object' &&
    value !== null &&
    'close' in value &&
    typeof value.close === 'function'
  );
}
