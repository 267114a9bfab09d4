import { startAzurite, type StartedAzurite } from './azurite.js';

/** Azurite's blob service in a process of its own, in memory, on a free port. */
export function startAzuriteBlobs(): Promise<StartedAzurite> {
  return startAzurite('blob');
}
