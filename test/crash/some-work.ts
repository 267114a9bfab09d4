import { setTimeout as pause } from 'node:timers/promises';
import type { ServerProcess } from '../support/crash-server.js';

/**
 * Waits until a load has done more than this, however slow the machine is, or until the server has
 * ended by itself.
 */
export async function someWork(
  server: ServerProcess,
  done: () => number,
  least: number,
): Promise<void> {
  const ended = server.exit.then(() => 'ended' as const);
  while (done() <= least) {
    if ((await Promise.race([ended, pause(10)])) === 'ended') return;
  }
}
