import { pino, type Logger } from 'pino';
import { loggerOfPino, type ServerOptions } from '../../app/index.js';
import { systemTimers } from '../../base/async/timers.js';
import { CommandFailure, messageOf } from '../terminal/failure.js';
import { LogOutput } from './log-output.js';
import { fileTarget, standardErrorTarget, type LogTarget } from './log-target.js';
import { requestLogger } from './request-log.js';
import type { ProcessSettings } from './settings.js';

/** The log of a server process, or of the primary of workers. */
export interface StartLog {
  readonly log: Logger;
  /** The server options for logging. */
  readonly options: Required<Pick<ServerOptions, 'logger' | 'observers'>>;
  /** Writes the buffered lines, if possible; for the end of the process. */
  readonly flush: () => Promise<void>;
  /** Reopens the file after a log rotation. Standard error is unchanged. */
  readonly reopen: () => void;
}

/** `fields` are added to every line. Throws `CommandFailure` when the file cannot be written. */
export function openStartLog(
  { debug, logLevel, silent }: ProcessSettings,
  fields: Readonly<Record<string, unknown>> | null = null,
): StartLog {
  const output = new LogOutput({
    target: debug === undefined ? standardErrorTarget() : openLogFile(debug, () => log),
    timers: systemTimers,
    dropped: (lines) => log.error({ lines }, 'lines of the log were lost: it could not be written'),
  });
  const level = debug === undefined ? logLevel : 'debug';
  const timestamp = pino.stdTimeFunctions.isoTime;
  const log: Logger = pino({ level, base: fields, timestamp }, output);
  return {
    log,
    options: {
      logger: loggerOfPino(log),
      observers: silent ? [] : [requestLogger(log)],
    },
    flush: () => output.flush(),
    reopen: () => output.reopen(),
  };
}

function openLogFile(file: string, log: () => Logger): LogTarget {
  try {
    return fileTarget(file, (error) => {
      if (error === undefined) log().info({ file }, 'log file opened again');
      else log().error({ file, error: messageOf(error) }, 'log file not opened again');
    });
  } catch (error) {
    throw new CommandFailure(
      `The log file ${file} of --debug cannot be written: ${messageOf(error)}`,
    );
  }
}
