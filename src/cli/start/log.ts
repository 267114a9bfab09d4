import { destination, pino, type Logger } from 'pino';
import { loggerOfPino, type ServerOptions } from '../../app/index.js';
import { requestLogger } from './request-log.js';
import type { StartFlags } from './options.js';

/** The log of a process that serves, or that watches those that do. */
export interface StartLog {
  readonly log: Logger;
  /** What a server needs to write into it. */
  readonly options: Required<Pick<ServerOptions, 'logger' | 'observers'>>;
  /** Writes out what waits to be written; for the end of the process. */
  readonly flush: () => void;
}

/** `fields` are in every line. */
export function openStartLog(
  { debug, logLevel, silent }: StartFlags,
  fields: Readonly<Record<string, unknown>> | null = null,
): StartLog {
  const output = destination(
    debug === undefined
      ? { fd: 2, sync: false }
      : { dest: debug, sync: false, append: true, mkdir: true },
  );
  const level = debug === undefined ? logLevel : 'debug';
  const timestamp = pino.stdTimeFunctions.isoTime;
  const log = pino({ level, base: fields, timestamp }, output);
  return {
    log,
    options: {
      logger: loggerOfPino(log),
      observers: silent === true ? [] : [requestLogger(log)],
    },
    flush: () => output.flushSync(),
  };
}
