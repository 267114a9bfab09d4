import { setTimeout as pause } from 'node:timers/promises';
import type { ServerOptions } from '../../app/index.js';
import { endsWithin } from '../../base/async/deadline.js';
import { holdingTimers } from '../../base/async/timers.js';
import type { StartLog } from './log.js';
import { endProcess, exitCodes, killAfter, patienceMs } from './process-end.js';
import { firstStopSignal, signalExitCode, type StopSignal } from './stop-signals.js';

/** How long an end waits for a start in progress: to close what that opens, or for its error. */
export const startPatienceMs = 2_000;

export interface GuardOptions {
  readonly log: StartLog;
  /** The time limit of an orderly stop, in milliseconds. */
  readonly stopMsMax: number;
  /** Releases what must not outlive the process; called before an abnormal end. */
  readonly release?: () => void;
  /** Called at SIGHUP, after the log was reopened. */
  readonly hangup?: () => void;
}

/** Controls the end of a server process. */
export interface ProcessGuard extends Required<Pick<ServerOptions, 'onFatal'>> {
  readonly stopSignal: Promise<StopSignal>;
  /** Waits for an orderly stop within the time limit, and ends the process. */
  stop(stopped: Promise<unknown>): Promise<never>;
}

/**
 * From now on an uncaught error is logged and ends the process, because its state is unknown.
 * Returns the callback for a failed store. `release` is called before the end.
 */
export function endWhenBroken(
  { log, flush }: StartLog,
  release: () => void = () => undefined,
): Required<Pick<ServerOptions, 'onFatal'>> {
  const end = (code: number): void => {
    release();
    void endProcess(code, flush);
  };
  // Unhandled rejections arrive here as well.
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'unexpected error: the process ends');
    end(exitCodes.broken);
  });
  // The server has logged the reason.
  return { onFatal: () => end(exitCodes.storeFailed) };
}

/**
 * `onFatal` for a server that starts. What `starting` rejects with says more than an end without a
 * word, and ends the process too, so a store that fails meanwhile leaves it the last word, unless
 * that takes longer than `patience`.
 */
export function fatalAfterStart(
  onFatal: (error: Error) => void,
  starting: () => Promise<unknown>,
  patience: () => Promise<unknown> = () => pause(startPatienceMs),
): (error: Error) => void {
  const isDone = async (): Promise<boolean> => {
    try {
      await starting();
      return true;
    } catch {
      return false;
    }
  };
  const isOverdue = async (): Promise<true> => {
    await patience();
    return true;
  };
  const end = async (failure: Error): Promise<void> => {
    if (await Promise.race([isDone(), isOverdue()])) onFatal(failure);
  };
  return (failure) => void end(failure);
}

/**
 * From now on signals and uncaught errors are handled: the first SIGINT or SIGTERM requests a stop,
 * the second ends the process at once, and SIGHUP reopens the log.
 */
export function guardProcess({ log, stopMsMax, release, hangup }: GuardOptions): ProcessGuard {
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
      killAfter(stopMsMax + 2 * patienceMs);
      const limit = { limitMs: stopMsMax, timers: holdingTimers };
      if (await endsWithin(stopped, limit)) {
        log.log.info('stopped');
        return endProcess(exitCodes.stopped, log.flush);
      }
      log.log.error({ seconds: stopMsMax / 1000 }, 'not stopped in time: ended all the same');
      return end(exitCodes.failed);
    },
  };
}
