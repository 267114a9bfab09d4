import { allocateInYoungGeneration } from '../base/pretenuring.js';
import { preload } from './preload.js';

/**
 * Runs a command line and ends the process: 0 success, 1 failure, 2 wrong usage. A server has
 * further codes (`start/process-end.ts`). SIGHUP is held back until `releaseHangup` is called,
 * which every command except `start` does.
 */
export async function main(argv: readonly string[], releaseHangup: () => void): Promise<void> {
  allocateInYoungGeneration();
  preload('./command-line.js');
  const { watchOutput, runCommandLine } = await import('./command-line.js');
  watchOutput();
  await runCommandLine(argv, releaseHangup);
}
