import { byService } from '../../../model/services/services.js';
import { stopMsMax, workerStopMsMax } from '../../../app/stop-time.js';
import { endsWithin } from '../../../base/async/deadline.js';
import { holdingTimers } from '../../../base/async/timers.js';
import { openDirectoryOwner, type DirectoryOwner } from '../../../app/directory-owner.js';
import { bannerText, listeningFields } from '../banner.js';
import { startFailure } from '../failure.js';
import { openStartLog } from '../log.js';
import type { StartPlan } from '../plan.js';
import { fatalAfterStart, guardProcess, startPatienceMs } from '../process-guard.js';
import type { Reloading } from '../reloading.js';
import { withSeed } from '../seeding.js';
import { WorkerPool } from './pool.js';
import { warnOfExposure } from '../reach.js';

/**
 * Owns the data directory and supervises the workers that serve it, until a signal stops all of
 * them. Throws `CommandFailure` when they cannot serve.
 */
export async function runPrimary(plan: StartPlan): Promise<never> {
  const { settings, config } = plan;
  const { options, process: own } = settings;
  const startLog = openStartLog(own);
  const { log } = startLog;
  const ports = byService((service) => options[`${service}Port` as const]);
  const pool = new WorkerPool({
    count: own.workers,
    ports,
    config,
    log,
    stopMsMax: workerStopMsMax(options),
  });
  const guard = guardProcess({
    log: startLog,
    stopMsMax: stopMsMax(options),
    release: () => pool.kill(),
    hangup: () => pool.reopenLogs(),
  });
  const onFatal = fatalAfterStart(guard.onFatal, () => opening);
  const opening: Promise<DirectoryOwner> = withSeed(own.init, (init) =>
    openDirectoryOwner({ ...options, ...startLog.options, onFatal, ...init }).catch(
      (error: unknown) => {
        throw startFailure(error);
      },
    ),
  );
  let reloading: Reloading | undefined;
  const serve = async (): Promise<never> => {
    const owner = await opening;
    const endpoints = owner.endpoints(await pool.start());
    const { certificate } = owner;
    const shown = { ...endpoints, certificate };
    process.stdout.write(bannerText(shown, settings, { isPrivate: process.stdout.isTTY }));
    log.info(listeningFields(endpoints, settings), 'listening');
    warnOfExposure(log, settings);
    plan.warnOfFiles(log);
    reloading = plan.reload(log, (reloaded) => pool.reload(reloaded.config));
    return pool.broken();
  };
  const stop = async (): Promise<void> => {
    reloading?.stop();
    await pool.stop();
    await given(opening);
  };
  try {
    const signal = await Promise.race([serve(), guard.stopSignal]);
    log.info({ signal }, 'stopping: requests in flight are finished');
  } catch (error) {
    await stop();
    await startLog.flush();
    throw error;
  }
  return guard.stop(stop());
}

/** Releases the directory, unless opening it does not finish for some time. */
async function given(opening: Promise<DirectoryOwner>): Promise<void> {
  const opened = opening.catch(() => undefined);
  const limit = { limitMs: startPatienceMs, timers: holdingTimers };
  if (await endsWithin(opened, limit)) await (await opened)?.close();
}
