import { setTimeout as pause } from 'node:timers/promises';
import type { ServerOptions } from '../../app/index.js';
import type { StartLog } from './log.js';
import { endProcess, exitCodes } from './process-end.js';
import { firstStopSignal, signalExitCode, type StopSignal } from './stop-signals.js';

/** How long an orderly stop may take. Requests in flight are cut off well before. */
const stopMaxMs = 30_000;

export interface GuardOptions {
  readonly log: StartLog;
  /** Ends what must not outlive the process; called before it ends out of order. */
  readonly release?: () => void;
  /** Called at SIGHUP, when the log has been opened again. */
  readonly hangup?: () => void;
}

/** How a process of a server ends, whatever happens to it. */
export interface ProcessGuard extends Required<Pick<ServerOptions, 'onFatal'>> {
  readonly stopSignal: Promise<StopSignal>;
  /** Waits for an orderly stop, but not for ever, and ends the process. */
  stop(stopped: Promise<unknown>): Promise<never>;
}

/**
 * From now on an error that nobody caught is logged and ends the process, because nobody knows what
 * it left half done. Returns what ends it for an error of the store. `release` is called before.
 */
export function endWhenBroken(
  { log, flush }: StartLog,
  release: () => void = () => undefined,
): Required<Pick<ServerOptions, 'onFatal'>> {
  const end = (code: number): void => {
    release();
    void endProcess(code, flush);
  };
  // A rejection that nobody handles comes here as well.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error: the process ends');
    end(exitCodes.broken);
  });
  // The server has logged why.
  return { onFatal: () => end(exitCodes.storeFailed) };
}

/**
 * From now on signals and unexpected errors are answered: the first SIGINT or SIGTERM asks for a
 * stop, the second ends the process at once, and SIGHUP opens the log again.
 */
export function guardProcess({ log, release, hangup }: GuardOptions): ProcessGuard {
  const end = (code: number): Promise<never> => {
    release?.();
    return endProcess(code, log.flush);
  };
  const { onFatal } = endWhenBroken(log, release);
  process.on('SIGHUP', () => {
    log.reopen();
    hangup?.();
  });
  return {
    onFatal,
    stopSignal: firstStopSignal((signal) => void end(signalExitCode(signal))),
    async stop(stopped) {
      const inTime = stopped.then(() => true);
      if (await Promise.race([inTime, pause(stopMaxMs, false)])) {
        log.log.info('stopped');
        return endProcess(exitCodes.stopped, log.flush);
      }
      log.log.error({ seconds: stopMaxMs / 1000 }, 'not stopped in time: ended all the same');
      return end(exitCodes.failed);
    },
  };
}
