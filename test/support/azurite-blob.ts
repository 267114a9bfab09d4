import { startAzurite, type StartedAzurite } from './azurite.js';

/** Starts Azurite's blob service in its own process, in memory, on a free port. */
export function startAzuriteBlobs(): Promise<StartedAzurite> {
  return startAzurite('blob');
}
