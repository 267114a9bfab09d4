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
 */
export function closeUntakenConnections(worker: Worker): void {
  const child = worker.process;
  const send = child.send.bind(child) as (...parts: unknown[]) => boolean;
  const latest = new Map<string, Handle>();
  Object.assign(child, {
    send(...parts: unknown[]): boolean {
      const [message, handle] = parts;
      const socket = listeningSocketOf(message);
      if (socket !== undefined && isHandle(handle)) latest.set(socket, handle);
      return send(...parts);
    },
  });
  worker.once('exit', () => {
    for (const handle of latest.values()) handle.close();
  });
}

/** Which listening socket a message hands a connection of; undefined for other messages. */
function listeningSocketOf(message: unknown): string | undefined {
  const isHandOver =
    typeof message === 'object' && message !== null && 'act' in message && 'key' in message;
  return isHandOver && message.act === 'newconn' ? String(message.key) : undefined;
}

function isHandle(value: unknown): value is Handle {
  return (
    typeof value === 'object' &&
    value !== null &&
    'close' in value &&
    typeof value.close === 'function'
  );
}
