import { createServer, type TabulariumServer } from '../../app/index.js';
import { stopMsMax } from '../../app/stop-time.js';
import { endsWithin } from '../../base/async/deadline.js';
import { holdingTimers } from '../../base/async/timers.js';
import { bannerText, listeningFields } from './banner.js';
import { settingsChanger } from './changes.js';
import { startFailure } from './failure.js';
import { openStartLog, type StartLog } from './log.js';
import type { StartPlan } from './plan.js';
import { fatalAfterStart, guardProcess, startPatienceMs } from './process-guard.js';
import type { Reloading } from './reloading.js';
import { withSeed } from './seeding.js';
import { warnOfExposure } from './reach.js';

/** Runs a single-process server until a signal stops it. Throws when it cannot start. */
export async function runAlone(plan: StartPlan): Promise<never> {
  const { settings } = plan;
  const log = openStartLog(settings.process);
  const guard = guardProcess({ log, stopMsMax: stopMsMax(settings.options) });
  const onFatal = fatalAfterStart(guard.onFatal, () => starting);
  const starting: Promise<TabulariumServer> = withSeed(settings.process.init, (init) =>
    createServer({ ...settings.options, ...log.options, onFatal, ...init }).catch(
      (error: unknown) => {
        throw startFailure(error);
      },
    ),
  );
  let isStopping = false;
  let reloading: Reloading | undefined;
  const serve = async (): Promise<never> => {
    const server = await starting;
    if (!isStopping) reloading = present(server, plan, log);
    return new Promise(() => undefined);
  };
  const signal = await Promise.race([serve(), guard.stopSignal]);
  isStopping = true;
  log.log.info({ signal }, 'stopping: requests in flight are finished');
  reloading?.stop();
  return guard.stop(closed(starting));
}

/** Prints the endpoints, and begins to watch the settings. */
function present(server: TabulariumServer, plan: StartPlan, { log }: StartLog): Reloading {
  const { settings } = plan;
  process.stdout.write(bannerText(server, settings, { isPrivate: process.stdout.isTTY }));
  log.info(listeningFields(server, settings), 'listening');
  warnOfExposure(log, settings);
  plan.warnOfFiles(log);
  const change = settingsChanger(server, settings);
  return plan.reload(log, (next) => change(next.settings));
}

/** Resolves when the server is closed, or when a start has not finished for some time. */
async function closed(starting: Promise<TabulariumServer>): Promise<void> {
  const started = starting.catch(() => undefined);
  const limit = { limitMs: startPatienceMs, timers: holdingTimers };
  if (await endsWithin(started, limit)) await (await started)?.close();
}
