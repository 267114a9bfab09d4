import { openDirectoryOwner } from '../../../app/directory-owner.js';
import { bannerText, listeningFields } from '../banner.js';
import { startFailure } from '../failure.js';
import { openStartLog } from '../log.js';
import { withSeed } from '../seeding.js';
import type { StartPlan } from '../plan.js';
import type { Reloading } from '../reloading.js';
import { firstStopSignal } from '../stop-signals.js';
import { WorkerPool } from './pool.js';

/**
 * Owns the data directory and watches the workers that serve it, until a signal stops all of them.
 * Throws `CommandFailure` when they cannot serve.
 */
export async function runPrimary(plan: StartPlan): Promise<void> {
  const { settings, config } = plan;
  const { options, flags } = settings;
  const { log, options: logging, flush } = openStartLog(flags);
  const stopSignal = firstStopSignal();
  const owner = await withSeed(flags.init, (init) =>
    openDirectoryOwner({ ...options, ...logging, ...init }).catch((error: unknown) => {
      throw startFailure(error);
    }),
  );
  const ports = { table: options.tablePort, queue: options.queuePort };
  const pool = new WorkerPool({ count: flags.workers, ports, config, log });
  let reloading: Reloading | undefined;
  const serve = async (): Promise<never> => {
    const endpoints = owner.endpoints(await pool.start());
    const { certificate } = owner;
    const shown = { ...endpoints, certificate };
    process.stdout.write(bannerText(shown, settings, { isPrivate: process.stdout.isTTY }));
    log.info(listeningFields(endpoints, settings), 'listening');
    reloading = plan.reload(log, (reloaded) => pool.reload(reloaded.config));
    return pool.broken();
  };
  try {
    const signal = await Promise.race([serve(), stopSignal]);
    log.info({ signal }, 'stopping: requests in flight are finished');
  } finally {
    reloading?.stop();
    await pool.stop();
    await owner.close();
    log.info('stopped');
    flush();
  }
}
