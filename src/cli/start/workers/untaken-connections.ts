import type { Worker } from 'node:cluster';

/** What node's handles of sockets have. */
interface Handle {
  close(): void;
}

/**
 * Closes the connections that a worker was handed and had not taken when it ended, so that their
 * clients can connect again. `node:cluster` leaves them open, and then they wait for ever.
 *
 * It hands a worker one connection of each listening socket at a time and closes its own copy when
 * the worker has taken it; closing that again does nothing. So the latest handle of each socket is
 * all there can be. Whatever else is sent passes through.
 *
 * Returns what hands it no more. Once that was called for every worker, the listening sockets are
 * closed; each worker still takes what it was handed, before it hears what it is told afterwards.
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
    // As if the worker had said that it closes them: then nobody listens at once.
    for (const key of sockets)
      child.emit('internalMessage', { cmd: clusterCommand, act: 'close', key });
  };
}

/** How `node:cluster` marks its own messages. */
const clusterCommand = 'NODE_CLUSTER';

/** The listening socket that a message of `node:cluster` is about; undefined for others. */
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
